"""Probabilities of random walks between all pairs of nodes, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time
from graphpe.linalg.laplacian import transition_matrix


def walk_probabilities(
    adjacency: Tensor, walk_length: int, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Probability that a walk from u is at v after 0, 1, ..., K − 1 steps: I, P, ..., P^{K−1}.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed; self-loops are kept.
        walk_length: Number of powers K >= 1.
        dtype: Of the powers and the result. All terms are probabilities, so nothing cancels, and
            float32 is right to about 1e-6.

    Returns:
        ``[b, n, n, K]``. The row of a node without outgoing edges is zero after the first step.

    Paper: Ma et al., "Graph Inductive Biases in Transformers without Message Passing", ICML 2023.
    """
    transition = transition_matrix(adjacency).to(dtype)
    result = transition.new_empty(*transition.shape, walk_length)
    if result.numel() > 0:
        size = graphs_at_a_time(result)
        for part, part_result in zip(transition.split(size), result.split(size), strict=True):
            part_result.copy_(_powers(part, walk_length).permute(0, 2, 3, 1))
    return result


def _powers(matrix: Tensor, count: int) -> Tensor:
    """``[b, count, n, n]``: I, M, ..., M^{count−1}, the known powers times the highest all at once."""
    b, n, _ = matrix.shape
    powers = matrix.new_empty(b, count, n, n)
    powers[:, 0] = torch.eye(n, dtype=matrix.dtype, device=matrix.device)
    powers[:, 1:2] = matrix[:, None]  # nothing for count = 1
    highest = 1
    while highest < count - 1:
        added = min(highest, count - 1 - highest)
        known = powers[:, 1 : added + 1].reshape(b, added * n, n)
        product = known @ powers[:, highest]
        powers[:, highest + 1 : highest + added + 1] = product.view(b, added, n, n)
        highest += added
    return powers
