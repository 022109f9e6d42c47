"""How many walks go from node to node with so many edges forwards and the rest backwards."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time


def profile_width(length: int) -> int:
    """Number of pairs (l, k) with 1 <= l <= ``length`` and 0 <= k <= l."""
    return length * (length + 3) // 2


def walk_profiles(adjacency: Tensor, length: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Φ_uv(l, k): the number of walks of l steps from u to v, k along an edge and l − k against one.

    Φ(l + 1, k) = A Φ(l, k − 1) + Aᵀ Φ(l, k), from Φ(0, 0) = I.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; walks count with the product of the entries.
        length: Largest number of steps L >= 1.
        dtype: Of the result; the numbers are computed in float64 and so exact up to 2^53.

    Returns:
        ``[b, n, n, L (L + 3) / 2]``: the pairs (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), ...

    Paper: Huang et al., "What Are Good Positional Encodings for Directed Graphs?", ICLR 2025.
    """
    result = adjacency.new_empty(*adjacency.shape, profile_width(length), dtype=dtype)
    if result.numel() > 0:
        size = graphs_at_a_time(result)
        for part, part_result in zip(adjacency.split(size), result.split(size), strict=True):
            part_result.copy_(_profiles(part, length).transpose(2, 3))
    return result


def _profiles(adjacency: Tensor, length: int) -> Tensor:
    """``[b, n, L (L + 3) / 2, n]``: node u, pair (l, k), node v, so that one product takes all pairs of l."""
    b, n, _ = adjacency.shape
    forward, backward = adjacency, adjacency.mT.contiguous()
    result = adjacency.new_empty(b, n, profile_width(length), n)
    result[:, :, 0], result[:, :, 1] = backward, forward
    start = 0  # of the pairs (l, 0), ..., (l, l)
    for steps in range(1, length):
        last = result[:, :, start : start + steps + 1].reshape(b, n, -1)
        start += steps + 1
        following = result[:, :, start : start + steps + 2]
        following[:, :, :-1] = (backward @ last).view(b, n, steps + 1, n)
        following[:, :, -1] = 0.0
        following[:, :, 1:] += (forward @ last).view(b, n, steps + 1, n)
    return result
