"""Matrices of a graph by their definitions, one edge at a time, float64: the ground truth of spectral encodings."""

from __future__ import annotations

import networkx
import numpy as np
from torch_geometric.data import Data


def adjacency(data: Data) -> np.ndarray:
    """Without self-loops; parallel edges add up."""
    weights = data.get("edge_weight")
    matrix = np.zeros((data.num_nodes, data.num_nodes))
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            matrix[source, target] += 1.0 if weights is None else float(weights[edge])
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


def pseudo_inverse(data: Data) -> np.ndarray:
    """L⁺ of each component."""
    matrix = laplacian(data)
    inverse = np.zeros_like(matrix)
    for component in components(data):
        place = np.ix_(component, component)
        inverse[place] = np.linalg.pinv(matrix[place], hermitian=True)
    return inverse


def same_component(data: Data) -> np.ndarray:
    same = np.zeros((data.num_nodes, data.num_nodes), dtype=bool)
    for component in components(data):
        same[np.ix_(component, component)] = True
    return same
