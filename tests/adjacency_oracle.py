"""The adjacency matrix of a graph by its definition, for oracles that share no code with graphpe."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data


def adjacency_matrix(data: Data) -> np.ndarray:
    """``[n, n]`` float64, one edge at a time; parallel edges add up, row = source."""
    weights = data.get("edge_weight")
    adjacency = np.zeros((data.num_nodes, data.num_nodes))
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        adjacency[source, target] += 1.0 if weights is None else float(weights[edge])
    return adjacency


def transition_matrix(data: Data) -> np.ndarray:
    """``[n, n]`` float64, D^{-1} A; the row of a node without outgoing edges is zero."""
    adjacency = adjacency_matrix(data)
    degree = adjacency.sum(1, keepdims=True)
    return np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
