"""Triangles through each node."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time
from graphpe.linalg.structure.cycles import count_cycles
from graphpe.linalg.structure.neighbors import Neighbors


def triangles(adjacency: Tensor) -> Tensor:
    """The number of triangles through each node: half the diagonal of A³.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric, zeros and ones, no loops.

    Returns:
        ``[b, n]`` float64, exact.
    """
    b, n, _ = adjacency.shape
    result = adjacency.new_empty(b, n)
    at_a_time = graphs_at_a_time(adjacency)
    for part, out in zip(adjacency.split(at_a_time), result.split(at_a_time), strict=True):
        torch.sum((part @ part).mul_(part), -1, out=out)
    return result.div_(2)


def sparse_triangles(neighbors: Neighbors) -> Tensor:
    """`triangles` in time proportional to the sum, over the edges, of the smaller of two degrees.

    Args:
        neighbors: The graphs.

    Returns:
        ``[N]`` int64.
    """
    nodes = torch.zeros(neighbors.num_nodes, dtype=torch.int64, device=neighbors.source.device)
    limit = torch.tensor([torch.inf], dtype=torch.float64, device=nodes.device)
    counts, _ = count_cycles(neighbors, (3,), nodes, limit)
    return counts[:, 0]
