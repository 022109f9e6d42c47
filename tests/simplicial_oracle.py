"""Boundary matrices of the clique complex of a graph up to triangles, by listing them."""

from __future__ import annotations

from dataclasses import dataclass

import networkx
import numpy as np
from torch_geometric.data import Data


@dataclass
class Complex:
    """The simple undirected graph of a ``Data`` with its triangles.

    Args:
        edges: (u, v) with u < v → column of B_1 and row of B_2.
        b1: ``[n, e]``.
        b2: ``[e, t]``.
        components: Number of connected components.
    """

    edges: dict[tuple[int, int], int]
    b1: np.ndarray
    b2: np.ndarray
    components: int


def complex_of(data: Data) -> Complex:
    simple = networkx.Graph()
    simple.add_nodes_from(range(data.num_nodes))
    simple.add_edges_from((u, v) for u, v in data.edge_index.t().tolist() if u != v)
    edges = {edge: i for i, edge in enumerate(sorted(tuple(sorted(e)) for e in simple.edges))}
    triangles = [sorted(c) for c in networkx.enumerate_all_cliques(simple) if len(c) == 3]
    b1 = np.zeros((data.num_nodes, len(edges)))
    for (u, v), i in edges.items():
        b1[u, i], b1[v, i] = -1, 1
    b2 = np.zeros((len(edges), len(triangles)))
    for j, (u, v, w) in enumerate(triangles):
        b2[edges[u, v], j], b2[edges[v, w], j], b2[edges[u, w], j] = 1, 1, -1
    return Complex(edges, b1, b2, networkx.number_connected_components(simple) if simple else 0)


def positive_eigenvalues(matrix: np.ndarray) -> np.ndarray:
    values = np.linalg.eigvalsh(matrix) if matrix.size else np.zeros(0)
    return values[values > 1e-9]


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0
