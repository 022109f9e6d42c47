"""What came out of a generated dataset: sizes of graphs and their targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class PartStatistics:
    """Sizes and targets of the graphs of a part.

    Args:
        graphs: Number of graphs.
        edges: Mean number of directed edges.
        nodes: Mean number of nodes.
        node_histogram: How many graphs have how many nodes, as (nodes, graphs), ascending.
        labelled: Fraction of the numbers in ``y`` that are not missing. Missing is NaN and, where ``y`` is integer, a
            negative number, as after the end of a name.
        target_mean: Mean of each column of ``y`` over its labels: for yes/no targets the rate of positives. None where
            a column has no label; empty where ``y`` is integer, since numbers of words or classes have no mean.
    """

    graphs: int
    nodes: float
    edges: float
    node_histogram: list[list[int]]
    labelled: float
    target_mean: list[float | None]

    def __str__(self) -> str:
        smallest, largest = self.node_histogram[0][0], self.node_histogram[-1][0]
        sizes = f"{self.graphs:,} graphs, {smallest} to {largest} nodes (mean {self.nodes:.1f}), {self.edges:.1f} edges"
        if not self.target_mean:
            return sizes
        means = ", ".join("-" if mean is None else f"{mean:.3g}" for mean in self.target_mean)
        return f"{sizes}; {self.labelled:.1%} of y is labelled, with mean {means}"


def part_statistics(
    columns: Mapping[str, Any], slices: Mapping[str, Tensor], counts: Mapping[str, int]
) -> dict[str, PartStatistics]:
    """The statistics of each part.

    Args:
        columns: Attributes of all graphs, as `graphpe.data.storage.pack` gives them, with ``y``.
        slices: Where each graph lies in them.
        counts: Number of graphs of each part, in their order.
    """
    nodes = _node_counts(columns, slices)
    edges = slices["edge_index"].diff()
    targets, rows = columns["y"], slices["y"]
    result, start = {}, 0
    for part, count in counts.items():
        own = slice(start, start + count)
        target = targets[rows[start] : rows[start + count]]
        sizes, graphs = nodes[own].unique(return_counts=True)
        result[part] = PartStatistics(
            graphs=count,
            nodes=float(nodes[own].double().mean()),
            edges=float(edges[own].double().mean()),
            node_histogram=torch.stack([sizes, graphs], dim=1).tolist(),
            **_of_targets(target[:, None] if target.dim() == 1 else target.flatten(1)),
        )
        start += count
    return result


def _node_counts(columns: Mapping[str, Any], slices: Mapping[str, Tensor]) -> Tensor:
    return columns["_num_nodes"] if "_num_nodes" in columns else slices["x"].diff()


def _of_targets(target: Tensor) -> dict[str, Any]:
    is_float = target.is_floating_point()
    missing = target.isnan() if is_float else target < 0
    labels = (~missing).sum(0)
    labelled = int(labels.sum()) / max(target.numel(), 1)
    if not is_float:
        return {"labelled": labelled, "target_mean": []}
    # One copy at most: targets of pairs are the largest tensor of a dataset.
    means = target.masked_fill(missing, 0).sum(0, dtype=torch.float64) / labels
    return {
        "labelled": labelled,
        "target_mean": [None if mean != mean else mean for mean in means.tolist()],
    }
