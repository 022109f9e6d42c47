"""How far is each node from the source of a tree?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from torch_geometric.data import Data

from graphpe.checks import require_number, require_positive_integer
from graphpe.data.generated.base import GeneratedGraphs
from graphpe.data.generated.ranges import checked_range


@dataclass(frozen=True, kw_only=True)
class SourceDistance(GeneratedGraphs):
    """Random trees with edges away from a source: a long-range task on nodes.

    A graph is a tree drawn uniformly from all trees on n labelled nodes, n uniform in the range of its part. Its edges
    lead away from a source, a uniformly drawn node. Further edges join pairs of different nodes, drawn uniformly, and
    lead from the node that is nearer to the source in the tree to the other, at equal distances as drawn. An edge that
    is already there is not added again.

    The published code draws the two nodes of a further edge independently, so some become self-loops; here there are
    none.

    Graphs have ``edge_index [2, e]``, sorted, ``x [n, 1]`` float32, 1 for the source and 0 elsewhere, and ``y [n, 1]``
    float32, the number of edges of a shortest path from the source.

    Args:
        root: Folder of generated datasets.
        seed: Seed of everything random.
        workers: Processes that generate.
        train_size: Number of graphs.
        valid_size: Number of graphs.
        test_size: Number of graphs.
        train_nodes: Smallest and largest number of nodes.
        valid_nodes: The same for validation.
        test_nodes: The same for the test.
        extra_edges: Number of further edges as a fraction of the number of nodes.

    Raises:
        ValueError: If a setting is out of range.

    Reference: Geisler et al., "Spatio-Spectral Graph Neural Networks", https://arxiv.org/abs/2405.19121.
    """

    train_size: int = 50_000
    valid_size: int = 2_500
    test_size: int = 2_500
    train_nodes: tuple[int, int] = (500, 999)
    valid_nodes: tuple[int, int] = (500, 999)
    test_nodes: tuple[int, int] = (500, 999)
    extra_edges: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in self.sizes():
            require_positive_integer(f"{part}_size", getattr(self, f"{part}_size"))
            name = f"{part}_nodes"
            object.__setattr__(self, name, checked_range(name, getattr(self, name), least=2))
        require_number("extra_edges", self.extra_edges, 0.0)

    def sizes(self) -> dict[str, int]:
        """Number of graphs of each part."""
        return {"train": self.train_size, "valid": self.valid_size, "test": self.test_size}

    def generate(self, part: str, numbers: range) -> list[Data]:
        """One graph for each number."""
        return [self._graph(part, number) for number in numbers]

    def _graph(self, part: str, number: int) -> Data:
        random = self.random(part, number)
        n = int(random.integers(*getattr(self, f"{part}_nodes"), endpoint=True))
        tree = random_tree(random, n)
        source = random.integers(n)
        depth = _distances(np.concatenate([tree, tree[::-1]], axis=1), n, source)
        extra = _different_pairs(random, n, round(self.extra_edges * n))
        start, end = _ordered_by(depth, np.concatenate([tree, extra], axis=1))
        edges = np.stack(np.divmod(np.unique(start * n + end), n))
        return Data(
            x=torch.from_numpy(np.arange(n) == source).float()[:, None],
            edge_index=torch.from_numpy(edges),
            y=torch.from_numpy(_distances(edges, n, source)).float()[:, None],
        )


def random_tree(random: np.random.Generator, n: int) -> np.ndarray:
    """The edges ``[2, n - 1]`` of a tree, uniformly drawn from all trees on n labelled nodes.

    Node i > 0 is joined to node min(U, i - 1) for a uniform U in 0, ..., n - 1, and then the nodes are relabelled at
    random.

    Reference: Aldous, The random walk construction of uniform spanning trees and uniform labelled trees (SIAM Journal
    on Discrete Mathematics 1990), algorithm 2.
    """
    node = np.arange(1, n)
    joined_to = np.minimum(random.integers(n, size=n - 1), node - 1)
    return random.permutation(n)[np.stack([joined_to, node])]


def _different_pairs(random: np.random.Generator, n: int, count: int) -> np.ndarray:
    """``[2, count]``: pairs of different nodes."""
    first = random.integers(n, size=count)
    return np.stack([first, (first + random.integers(1, n, size=count)) % n])


def _ordered_by(depth: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The edges, turned around where the first node is deeper than the second."""
    return np.where(depth[edges[0]] <= depth[edges[1]], edges, edges[::-1])


def _distances(edges: np.ndarray, n: int, source: int) -> np.ndarray:
    """``[n]``: number of edges of a shortest path from the source."""
    # Before scipy 1.13 csgraph takes no other integers.
    graph = csr_array((np.ones(edges.shape[1]), tuple(edges.astype(np.int32))), shape=(n, n))
    return dijkstra(graph, indices=source, unweighted=True)
