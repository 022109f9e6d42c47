"""How many cycles of each length has a random graph?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import scatter

from graphpe.checks import require_boolean, require_positive_integer, require_probability
from graphpe.data.generated.base import GeneratedGraphs
from graphpe.data.sources import SplitGraphs
from graphpe.transforms import AddCycleCountSE
from graphpe.transforms.structure.cycles import checked_lengths


@dataclass(frozen=True, kw_only=True)
class CycleCounting(GeneratedGraphs):
    r"""Random graphs with the numbers of their cycles: a task that message passing alone can't solve.

    A graph has ``num_nodes`` nodes (a test graph ``test_nodes``), and each pair of them an edge with probability
    ``edge_probability``. The target of length :math:`\ell` is the number of simple cycles with :math:`\ell` edges, each
    counted once:

    .. math:: y_\ell = \#\{ C \subseteq G : C \text{ a cycle with } \ell \text{ edges} \}

    The defaults are the sizes and the density of the random graphs of Chen et al.; SPE was compared with other
    encodings on such graphs.

    Graphs have ``edge_index [2, e]``, sorted, with both directions of each edge, and ``y [1, len(lengths)]`` float32.
    There are no features.

    Args:
        root: Folder of generated datasets.
        seed: Seed of everything random.
        workers: Processes that generate.
        train_size: Number of graphs.
        valid_size: Number of graphs.
        test_size: Number of graphs.
        num_nodes: Nodes of each graph.
        test_nodes: Nodes of each test graph, to see whether what is learned holds for larger graphs; None for as many
            as the others. The mean degree stays the same, and so, nearly, do the numbers of cycles.
        edge_probability: Probability of an edge between two of ``num_nodes`` nodes.
        lengths: Lengths of the cycles that are counted, from 3 to 8, one target for each.
        standardize: Whether `load` gives the targets with mean 0 and standard deviation 1 over the training graphs, as
            published, so that an error is in standard deviations. `generate` and `statistics` have numbers of cycles.

    Raises:
        ValueError: If a setting is out of range, a graph has too many cycles to count them, or (in `load`) all
            training graphs have the same number and it can't be standardised.

    References:
        Chen et al., "Can Graph Neural Networks Count Substructures?", https://arxiv.org/abs/2002.04025; Huang et al.,
        "On the Stability of Expressive Positional Encodings for Graphs", https://arxiv.org/abs/2310.02579.
    """

    train_size: int = 1_500
    valid_size: int = 1_000
    test_size: int = 2_500
    num_nodes: int = 10
    test_nodes: int | None = None
    edge_probability: float = 0.3
    lengths: tuple[int, ...] = (3, 4, 5, 6)
    standardize: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_size", "valid_size", "test_size", "num_nodes"):
            require_positive_integer(name, getattr(self, name))
        if self.test_nodes is not None:
            require_positive_integer("test_nodes", self.test_nodes)
            if self.test_nodes < self.num_nodes:
                raise ValueError(
                    f"test_nodes is {self.test_nodes}, but num_nodes {self.num_nodes}; test graphs are as large or "
                    "larger"
                )
        require_probability("edge_probability", self.edge_probability)
        object.__setattr__(self, "lengths", checked_lengths("lengths", self.lengths))
        if not self.lengths:
            raise ValueError("lengths is empty; give at least one length, (3, 4, 5, 6) say")
        require_boolean("standardize", self.standardize)

    def sizes(self) -> dict[str, int]:
        """Number of graphs of each part."""
        return {"train": self.train_size, "valid": self.valid_size, "test": self.test_size}

    def generate(self, part: str, numbers: range) -> list[Data]:
        """One graph for each number, with numbers of cycles as targets."""
        graphs = [self._random_graph(part, number) for number in numbers]
        for graph, y in zip(graphs, cycle_counts(graphs, self.lengths), strict=True):
            graph.y = y[None]
        return graphs

    def load(self) -> SplitGraphs:
        """The graphs, generated the first time, and which of them are in which part."""
        graphs, index = super().load()
        if self.standardize:
            graphs._data.y = standardized(graphs._data.y, index["train"])
        return SplitGraphs(graphs, index)

    def _random_graph(self, part: str, number: int) -> Data:
        size, probability = self.num_nodes, self.edge_probability
        if part == "test" and self.test_nodes is not None:
            size = self.test_nodes
            probability *= (self.num_nodes - 1) / max(size - 1, 1)
        upper = np.triu(self.random(part, number).random((size, size)) < probability, 1)
        edge_index = torch.from_numpy(upper | upper.T).nonzero().T.contiguous()
        return Data(edge_index=edge_index, num_nodes=size)


def cycle_counts(graphs: list[Data], lengths: tuple[int, ...]) -> Tensor:
    """The numbers of simple cycles of each length, ``[B, len(lengths)]`` float32."""
    count = AddCycleCountSE(lengths=lengths, dtype="float64")
    batch = count(Batch.from_data_list(graphs))
    through_nodes = scatter(batch.cycle_count_se, batch.batch, dim_size=len(graphs))
    # A cycle goes through as many nodes as it has edges.
    return (through_nodes / torch.tensor(lengths)).float()


def standardized(y: Tensor, train: Tensor) -> Tensor:
    """Targets with mean 0 and standard deviation 1 over the training graphs.

    Args:
        y: ``[B, T]`` targets.
        train: Numbers of the training graphs.

    Raises:
        ValueError: If a target is the same for all training graphs.
    """
    known = y[train].double()
    deviation = known.std(dim=0, correction=0)
    if bool((deviation == 0).any()):
        column = int((deviation == 0).nonzero()[0])
        raise ValueError(
            f"target {column} is {known[0, column]:g} for all {len(train)} training graphs, so it can't be "
            "standardised; take more or denser graphs, or standardize=False"
        )
    return ((y - known.mean(dim=0)) / deviation).to(y.dtype)
