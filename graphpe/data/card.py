"""`DatasetCard`: what a dataset is, where it comes from, and what others reached on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Baseline:
    """A published result on a dataset's test part.

    Args:
        model: The network and what it was given.
        mean: The card's metric (``task.metric``), averaged over the authors' runs.
        std: Its standard deviation over the runs, where published.
        reference: Where the figure was published.
    """

    model: str
    mean: float
    std: float | None
    reference: str


@dataclass(frozen=True)
class DatasetCard:
    """The documentation in a dataset's card, the section ``card:`` of ``datasets/<name>.yaml``.

    Args:
        title: What the dataset is, in a line.
        source: Address from which the data come.
        licence: Licence of the data, or that none is stated.
        citation: The publications to cite.
        num_graphs: Number of graphs.
        average_nodes: Nodes per graph.
        average_edges: Edges per graph, each counted once. Of undirected edges the loaders store both directions.
        split: The rule by which graphs are divided, and the sizes of train / valid / test.
        baselines: Published results.
    """

    title: str
    source: str
    licence: str
    citation: str
    num_graphs: int
    average_nodes: float
    average_edges: float
    split: str
    baselines: tuple[Baseline, ...] = ()
