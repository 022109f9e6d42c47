"""Return probabilities of random walks on a stack of graphs of equal size."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from graphpe.linalg.laplacian import check_finite, transition_matrix

# Matrix entries handled at a time on a CPU: the few matrices in use (256 KiB each) then stay in
# the cache, which halves the time.
_CACHED_ENTRIES = 2**15


def return_probabilities(adjacency: Tensor, steps: int) -> Tensor:
    """Probability that a walk is back at its start after 1, ..., ``steps`` steps: diag(P^k).

    P = D^{-1} A. Only the powers P, ..., P^s and P^s, P^2s, ... with s ≈ √steps are formed (6
    products for 20 steps, not 19), because diag(P^{a+b})_i = Σ_j (P^a)_ij (P^b)_ji.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed; self-loops are kept.
        steps: Number of steps K ≥ 0.

    Returns:
        ``[b, n, K]``; a node without outgoing edges has 0. The result of one graph has the same
        bytes whatever else is in the stack.

    Raises:
        ValueError: If ``steps`` is negative or an entry is not finite.

    Paper: Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional
    Representations", ICLR 2022.
    """
    if steps < 0:
        raise ValueError(f"steps is {steps}; it must be at least 0")
    check_finite(adjacency)
    b, n, _ = adjacency.shape
    result = adjacency.new_empty(b, n, steps)
    if result.numel() == 0:
        return result
    graphs_at_a_time = max(1, _CACHED_ENTRIES // n**2) if adjacency.device.type == "cpu" else b
    for part, part_result in zip(
        adjacency.split(graphs_at_a_time), result.split(graphs_at_a_time), strict=True
    ):
        diagonals = diagonals_of_powers(transition_matrix(part), steps)
        part_result.copy_(diagonals.permute(1, 2, 0))
    return result.clamp_(0.0, 1.0)  # rounding may leave [0, 1]


def diagonals_of_powers(matrix: Tensor, steps: int) -> Tensor:
    """The diagonals of M^1, ..., M^steps for each matrix of a stack.

    Args:
        matrix: ``[b, n, n]``.
        steps: At least 1.

    Returns:
        ``[steps, b, n]``.
    """
    diagonals = matrix.new_empty(steps, *matrix.shape[:-1])
    stride = math.isqrt(steps - 1) + 1  # √steps, rounded up
    small = [matrix]
    while len(small) < stride:
        small.append(small[-1] @ matrix)
    for diagonal, power in zip(diagonals, small, strict=False):
        diagonal.copy_(power.diagonal(dim1=-2, dim2=-1))

    small_transposed = [power.mT.contiguous() for power in small]
    leap = giant = small[-1]
    product = torch.empty_like(matrix)
    for done in range(stride, steps, stride):
        if done > stride:
            giant = giant @ leap
        for diagonal, power in zip(diagonals[done:], small_transposed, strict=False):
            torch.mul(giant, power, out=product)
            torch.sum(product, -1, out=diagonal)
    return diagonals
