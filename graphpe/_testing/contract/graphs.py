"""The graphs that encodings are tested on: small ones that break things, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from torch_geometric.data import Data

# Two eigenvalues closer than this count as equal.
_LEAST_GAP = 1e-3


@dataclass(frozen=True)
class SmallGraph:
    """A graph that can be printed, compared and taken apart.

    Args:
        num_nodes: Number of nodes.
        links: The edges; those of an undirected graph once, to stand for both directions.
        weights: One per link, or None for an unweighted graph.
        is_directed: Whether a link is one direction only.
    """

    num_nodes: int
    links: tuple[tuple[int, int], ...] = ()
    weights: tuple[float, ...] | None = None
    is_directed: bool = False

    def edges(self) -> tuple[list[tuple[int, int]], list[float] | None]:
        """All directed edges and their weights."""
        back = [] if self.is_directed else [i for i, (u, v) in enumerate(self.links) if u != v]
        edges = [*self.links, *(self.links[i][::-1] for i in back)]
        if self.weights is None:
            return edges, None
        return edges, [*self.weights, *(self.weights[i] for i in back)]

    def reordered(self, node_order: list[int], edge_order: list[int]) -> SmallGraph:
        """The graph whose node i and edge j are ``node_order[i]`` and ``edge_order[j]`` of this one."""
        edges, weights = self.edges()
        number = {node: new for new, node in enumerate(node_order)}
        return SmallGraph(
            self.num_nodes,
            tuple((number[edges[j][0]], number[edges[j][1]]) for j in edge_order),
            None if weights is None else tuple(weights[j] for j in edge_order),
            is_directed=True,  # each direction is an edge of its own
        )

    def data(self) -> Data:
        """The graph as a new ``Data``."""
        edges, weights = self.edges()
        edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t().contiguous()
        data = Data(edge_index=edge_index, num_nodes=self.num_nodes)
        if weights is not None:
            data.edge_weight = torch.tensor(weights, dtype=torch.float32)
        return data

    def __str__(self) -> str:
        """Code that makes it."""
        edges, weights = self.edges()
        sources, targets = [u for u, _ in edges], [v for _, v in edges]
        edge_index = (
            f"torch.tensor([{sources}, {targets}])" if edges else "torch.zeros(2, 0).long()"
        )
        weight = "" if weights is None else f", edge_weight=torch.tensor({weights})"
        return f"Data(num_nodes={self.num_nodes}, edge_index={edge_index}{weight})"


def all_graphs() -> list[SmallGraph]:
    """The fixed graphs and the random ones, directed ones last."""
    graphs = [*_unweighted(), *_weighted(), *_random(seed=0)]
    return sorted(graphs, key=lambda graph: graph.is_directed)


def generic_graph() -> SmallGraph:
    """A connected graph without any symmetry, with triangles and one hole; all its spectra are simple."""
    links = ((0, 1), (0, 4), (1, 3), (1, 4), (1, 5), (2, 4), (3, 4), (3, 6), (5, 6))
    return SmallGraph(7, links)


def path_graph(num_nodes: int, weight: float | None = None) -> SmallGraph:
    """A path, with all weights equal if one is given."""
    links = tuple((i, i + 1) for i in range(num_nodes - 1))
    return SmallGraph(num_nodes, links, None if weight is None else (weight,) * len(links))


def _unweighted() -> Iterator[SmallGraph]:
    yield SmallGraph(0)
    yield SmallGraph(1)
    yield SmallGraph(1, ((0, 0),))
    yield SmallGraph(2, ((0, 1),))
    yield SmallGraph(4)  # no edges
    # Repeated eigenvalues: a cycle, a star, a complete graph.
    yield SmallGraph(8, tuple((i, (i + 1) % 8) for i in range(8)))
    yield SmallGraph(6, tuple((0, i) for i in range(1, 6)))
    yield SmallGraph(5, tuple((i, j) for i in range(5) for j in range(i)))
    yield SmallGraph(7, ((1, 2), (2, 5), (5, 1)))  # isolated nodes
    yield SmallGraph(9, ((0, 1), (2, 3), (4, 5), (6, 7)))  # many components
    yield SmallGraph(4, ((0, 1), (0, 1), (1, 2), (2, 3)))  # parallel edges
    yield SmallGraph(4, ((0, 0), (0, 1), (1, 2), (2, 3), (3, 3)))  # loops
    yield path_graph(40)
    yield generic_graph()
    yield SmallGraph(2, ((0, 1),), is_directed=True)
    yield SmallGraph(4, ((0, 1), (1, 2), (2, 0), (2, 3)), is_directed=True)


def _weighted() -> Iterator[SmallGraph]:
    weights = (1.5, 0.25, 2.0, 1.25, 0.5, 3.0, 0.75, 1.75, 2.5)
    yield replace(generic_graph(), weights=weights)
    yield SmallGraph(3, ((0, 1), (1, 2), (0, 2)), (2.0, 0.0, 0.5))  # a weight of 0
    # Two components, parallel edges, a loop.
    links = ((0, 1), (1, 2), (2, 0), (0, 1), (3, 4), (4, 4))
    yield SmallGraph(5, links, (0.5, 1.0, 2.0, 0.25, 10.0, 0.1))
    yield replace(generic_graph(), weights=weights, is_directed=True)


def _random(seed: int) -> Iterator[SmallGraph]:
    generator = np.random.default_rng(seed)
    kinds = [(weighted, directed) for directed in (False, True) for weighted in (False, True)]
    for weighted, directed in [*kinds, *kinds[:2]]:
        n = int(generator.integers(5, 13))
        # Loops and parallel edges among them.
        links = generator.integers(0, n, size=(int(generator.integers(n, 2 * n)), 2))
        weights = generator.uniform(0.2, 3.0, size=len(links)).round(3)
        yield SmallGraph(
            n,
            tuple((int(u), int(v)) for u, v in links),
            tuple(float(weight) for weight in weights) if weighted else None,
            directed,
        )


# --- spectra -------------------------------------------------------------------------------------------------------


@cache
def has_simple_spectrum(graph: SmallGraph, level: str) -> bool:
    """Whether no operator of a graph that encodings are made of has a repeated eigenvalue.

    Eigenvectors are then unique up to a factor. Looks at the singular values of the adjacency and the Laplacians,
    with weights and without; for edges at the 1-Hodge Laplacian as well.
    """
    edges, weights = graph.edges()
    weighted, plain = np.zeros((2, graph.num_nodes, graph.num_nodes))
    for (u, v), weight in zip(edges, weights or [1.0] * len(edges), strict=True):
        weighted[u, v] += weight
        plain[u, v] = 1.0
    spectra = [spectrum for matrix in (weighted, plain) for spectrum in _spectra(matrix)]
    if level == "edge":
        spectra.append(_hodge_spectrum(plain))
    return all(len(s) < 2 or np.diff(np.sort(s)).min() > _LEAST_GAP for s in spectra)


def _spectra(adjacency: np.ndarray) -> Iterator[np.ndarray]:
    yield np.linalg.svd(adjacency, compute_uv=False)
    undirected = (adjacency + adjacency.T) / 2
    np.fill_diagonal(undirected, 0.0)
    degree = undirected.sum(axis=1)
    yield np.linalg.eigvalsh(np.diag(degree) - undirected)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
    normalized = scale[:, None] * undirected * scale
    yield np.linalg.eigvalsh(np.diag((degree > 0).astype(float)) - normalized)


def _hodge_spectrum(adjacency: np.ndarray) -> np.ndarray:
    connected = np.triu(np.maximum(adjacency, adjacency.T), k=1)
    edges = {(int(u), int(v)): i for i, (u, v) in enumerate(zip(*connected.nonzero(), strict=True))}
    triangles = [
        (u, v, w)
        for u, v in edges
        for w in range(v + 1, len(connected))
        if {(u, w), (v, w)} <= edges.keys()
    ]
    down = np.zeros((len(connected), len(edges)))
    for (u, v), i in edges.items():
        down[u, i], down[v, i] = -1.0, 1.0
    up = np.zeros((len(edges), len(triangles)))
    for j, (u, v, w) in enumerate(triangles):
        up[edges[u, v], j], up[edges[v, w], j], up[edges[u, w], j] = 1.0, 1.0, -1.0
    return np.linalg.eigvalsh(down.T @ down + up @ up.T)
