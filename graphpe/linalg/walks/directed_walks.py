"""Random walks along directed edges that stay where no edge leads on, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.laplacian import degree, transition_matrix


def with_loops_at_sinks(adjacency: Tensor) -> Tensor:
    """The adjacency with a self-loop of weight 1 at each node without outgoing edges.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed.

    Returns:
        ``[b, n, n]``; the rows of its transition matrix all sum to 1.
    """
    return adjacency + torch.diag_embed((degree(adjacency) == 0).to(adjacency.dtype))


def arrivals(adjacency: Tensor, walk_length: int) -> Tensor:
    """How many walks are at v after 1, ..., K steps if one starts at each node: Σ_u (P^k)_uv.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed; self-loops are kept.
        walk_length: Number of steps K >= 1.

    Returns:
        ``[b, n, K]`` float64. Each column sums to n if no node is without outgoing edges.

    Paper: Geisler et al., "Transformers Meet Directed Graphs", ICML 2023.
    """
    transition = transition_matrix(adjacency)
    b, n, _ = transition.shape
    walks = transition.new_ones(b, 1, n)
    result = transition.new_empty(b, n, walk_length)
    for step in range(walk_length):
        walks = walks @ transition
        result[:, :, step] = walks[:, 0]
    return result
