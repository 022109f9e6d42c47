"""Return probabilities of random walks on a stack of graphs of equal size."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from graphpe.linalg.laplacian import (
    check_finite,
    symmetric_transition_matrix,
    transition_matrix,
)

# Matrix entries handled at a time on a CPU: the few matrices in use (512 KiB each) then stay in
# the cache, which halves the time.
_CACHED_ENTRIES = 2**16


def return_probabilities(
    adjacency: Tensor, steps: int, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Probability that a walk is back at its start after 1, ..., ``steps`` steps: diag(P^k).

    P = D^{-1} A; for a symmetric A, S = D^{-1/2} A D^{-1/2} has the same diagonals and takes its place.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed; self-loops are kept.
        steps: Number of steps K ≥ 0.
        dtype: Of the powers and the result. All terms are probabilities, so nothing cancels, and
            float32 is right to about 1e-6.

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
    result = adjacency.new_empty(*adjacency.shape[:-1], steps, dtype=dtype)
    if result.numel() == 0:
        return result
    if torch.equal(adjacency, adjacency.mT):
        _return_probabilities(adjacency, result, is_symmetric=True)
    else:
        symmetric = (adjacency == adjacency.mT).flatten(1).all(dim=1)
        for is_symmetric in (True, False):
            chosen = symmetric == is_symmetric
            part = result[chosen]
            _return_probabilities(adjacency[chosen], part, is_symmetric)
            result[chosen] = part
    return result.clamp_(0.0, 1.0)  # rounding may leave [0, 1]


def _return_probabilities(adjacency: Tensor, result: Tensor, is_symmetric: bool) -> None:
    """Fills ``result [b, n, K]`` for graphs that all are symmetric, or all are not."""
    b, n, steps = result.shape
    graphs_at_a_time = max(1, _CACHED_ENTRIES // n**2) if adjacency.device.type == "cpu" else b
    for part, part_result in zip(
        adjacency.split(max(1, graphs_at_a_time)),
        result.split(max(1, graphs_at_a_time)),
        strict=True,
    ):
        if is_symmetric:
            matrix = symmetric_transition_matrix(part).to(result.dtype)
            diagonals = diagonals_of_symmetric_powers(matrix, steps)
        else:
            diagonals = diagonals_of_powers(transition_matrix(part).to(result.dtype), steps)
        part_result.copy_(diagonals.permute(1, 2, 0))


def diagonals_of_symmetric_powers(matrix: Tensor, steps: int) -> Tensor:
    """The diagonals of S^1, ..., S^steps for each symmetric matrix of a stack.

    Half the powers are enough: the diagonal of S^{2a} has the squared norms of the rows of S^a, and
    that of S^{2a+1} the products of the rows of S^a and S^{a+1}.

    Args:
        matrix: ``[b, n, n]``, symmetric.
        steps: At least 1.

    Returns:
        ``[steps, b, n]``.
    """
    diagonals = matrix.new_empty(steps, *matrix.shape[:-1])
    diagonals[0] = matrix.diagonal(dim1=-2, dim2=-1)
    product = torch.empty_like(matrix)
    power = matrix
    for step in range(1, steps, 2):
        torch.sum(torch.mul(power, power, out=product), -1, out=diagonals[step])
        if step + 1 < steps:
            following = power @ matrix
            torch.sum(torch.mul(power, following, out=product), -1, out=diagonals[step + 1])
            power = following
    return diagonals


def diagonals_of_powers(matrix: Tensor, steps: int) -> Tensor:
    """The diagonals of M^1, ..., M^steps for each matrix of a stack.

    Only the powers M, ..., M^s and M^s, M^2s, ... with s ≈ √steps are formed (6 products for 20
    steps, not 19), because diag(M^{a+b})_i = Σ_j (M^a)_ij (M^b)_ji.

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
