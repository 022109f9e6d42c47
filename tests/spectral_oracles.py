"""Matrices of a graph by their definitions, one edge at a time, float64: the ground truth of spectral encodings."""

from __future__ import annotations

import networkx
import numpy as np
from adjacency_oracle import adjacency_matrix
from torch_geometric.data import Data


def adjacency(data: Data) -> np.ndarray:
    """Without self-loops; parallel edges add up."""
    matrix = adjacency_matrix(data)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def laplacian(data: Data, normalization: str = "none") -> np.ndarray:
    matrix = adjacency(data)
    degree = matrix.sum(1)
    if normalization == "none":
        return np.diag(degree) - matrix
    safe = np.where(degree > 0, degree, 1.0)
    if normalization == "rw":
        return np.diag(degree / safe) - matrix / safe[:, None]
    return np.diag(degree / safe) - matrix / np.sqrt(np.outer(safe, safe))


def components(data: Data) -> list[list[int]]:
    graph = networkx.from_numpy_array(adjacency(data))
    return [sorted(component) for component in networkx.connected_components(graph)]


def check_lengths(values: np.ndarray, vectors: np.ndarray, bound: float) -> None:
    """Vectors of the eigenvalue 0 have unit length, those of any other eigenspace in the root mean square."""
    squares = (vectors**2).sum(0)
    equal = np.diff(values) <= 1e-6 * values[1:] + 1e-12 * bound
    equal &= values[:-1] != 0
    for squares_of_space in np.split(squares, np.flatnonzero(~equal) + 1):
        np.testing.assert_allclose(squares_of_space.sum(), len(squares_of_space), atol=1e-10)


def pseudo_inverse(data: Data) -> np.ndarray:
    """L⁺ of each component: L + c J / n, with J all ones, is invertible, and its inverse is L⁺ + J / (c n)."""
    matrix = laplacian(data)
    inverse = np.zeros_like(matrix)
    for component in components(data):
        place = np.ix_(component, component)
        own = matrix[place]
        n = len(own)
        if n > 1:
            scale = np.trace(own) / n
            inverse[place] = np.linalg.inv(own + scale / n) - 1 / (scale * n)
    return inverse


def same_component(data: Data) -> np.ndarray:
    same = np.zeros((data.num_nodes, data.num_nodes), dtype=bool)
    for component in components(data):
        same[np.ix_(component, component)] = True
    return same
