"""Magnetic Laplacians by their definition, and small directed graphs."""

from __future__ import annotations

import cmath
import math

import numpy as np
from adjacency_oracle import adjacency_matrix
from graph_zoo import graph
from torch_geometric.data import Data

from graphpe.transforms import AddMagneticLaplacianPE


def laplacian(
    data: Data, q: float, two_way: str = "binary", normalization: str = "sym", isolated: int = 0
) -> np.ndarray:
    """The matrix by its definition, one pair of nodes at a time."""
    n = data.num_nodes
    adjacency = adjacency_matrix(data)
    hopping, degree = np.zeros((n, n), dtype=complex), np.zeros(n)
    forward, backward = cmath.exp(2j * math.pi * q), cmath.exp(-2j * math.pi * q)
    for u in range(n):
        for v in range(n):
            there, back = adjacency[u, v], adjacency[v, u]
            turn = 1.0 if (there > 0) == (back > 0) else (forward if there > 0 else backward)
            if two_way == "binary" and (there > 0 or back > 0):
                hopping[u, v] = turn
                degree[u] += 1
            if two_way == "average" and u != v:
                hopping[u, v] = (there + back) / 2 * turn
                degree[u] += (there + back) / 2
            if two_way == "phase" and u != v:
                hopping[u, v] = there * forward + back * backward
                degree[u] += there + back
    if normalization == "none":
        return np.diag(degree) - hopping
    safe = np.where(degree > 0, degree, 1.0)
    diagonal = np.where(degree > 0, 1.0, isolated)
    return np.diag(diagonal) - hopping / np.sqrt(np.outer(safe, safe))


def pairs(data: Data, q: float = 0.25, **options) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues and eigenvectors in float64."""
    encoded = AddMagneticLaplacianPE(max(1, data.num_nodes), q=q, dtype="float64", **options)(data)
    count = int(encoded.magnetic_eigenvector_count)
    return (
        encoded.magnetic_eigenvalue[0, :count].numpy(),
        encoded.magnetic_eigenvector_pe[:, :count].numpy(),
    )


def kernel(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """V exp(−Λ) V^H, which no choice of phases or bases changes."""
    return (vectors * np.exp(-values)) @ vectors.conj().T


def directed(n: int, edges: list[tuple[int, int]]) -> Data:
    return graph(n, edges, directed=True)


def cycle(n: int) -> Data:
    return directed(n, [(i, (i + 1) % n) for i in range(n)])


def reversed_edges(data: Data) -> Data:
    data = data.clone()
    data.edge_index = data.edge_index.flip(0)
    return data


def oriented_tree(n: int, seed: int) -> tuple[Data, np.ndarray]:
    """A random tree with random directions, and the heights: up by 1 along an edge."""
    generator = np.random.default_rng(seed)
    heights, edges = np.zeros(n), []
    for node in range(1, n):
        parent = int(generator.integers(node))
        if generator.random() < 0.5:
            edges.append((parent, node))
            heights[node] = heights[parent] + 1
        else:
            edges.append((node, parent))
            heights[node] = heights[parent] - 1
    return directed(n, edges), heights
