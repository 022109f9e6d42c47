"""Singular value decompositions of a stack of graphs of equal size, and the sign convention of their vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.laplacian import check_finite
from graphpe.linalg.spectra.eigh import canonical_signs

# Values smaller than this share of the largest one are rounding.
_ROUNDING = 1e-12


def singular_vectors(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """M = U diag(σ) Vᵀ for each matrix of a stack.

    The result of one matrix has the same bytes whatever else is in the stack. On CUDA, where the solver is another
    one, each decomposition is checked, and the wrong ones are computed again on the CPU.

    Args:
        matrix: ``[b, n, n]`` float64; b and n may be 0.

    Returns:
        U ``[b, n, n]``, σ ``[b, n]`` descending, exactly 0 below 1e-12 of the largest, and V ``[b, n, n]``, one vector
        per column. Signs, and bases where values repeat, are the solver's.

    Raises:
        ValueError: If an entry is not finite; names the position in the stack.
    """
    check_finite(matrix)
    left, values, right = torch.linalg.svd(matrix)
    if matrix.is_cuda and matrix.numel() > 0:
        wrong = _wrong_decompositions(matrix, left, values, right).nonzero().squeeze(-1)
        for whole, part in zip(
            (left, values, right), torch.linalg.svd(matrix[wrong].cpu()), strict=True
        ):
            whole[wrong] = part.to(whole.device)
    return left, torch.where(values > _ROUNDING * values[:, :1], values, 0.0), right.mT


def canonical_sign_pairs(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Flips a column of both factors where `canonical_signs` flips that of the left one.

    Args:
        left: ``[b, n, k]``.
        right: ``[b, n, k]``; the product of the factors stays the same.
    """
    flipped = canonical_signs(left)
    is_flipped = (flipped * left).sum(-2, keepdim=True) < 0
    return flipped, torch.where(is_flipped, -right, right)


def _wrong_decompositions(matrix: Tensor, left: Tensor, values: Tensor, right: Tensor) -> Tensor:
    """``[b]`` bool: where the factors are not orthogonal or M ≠ U diag(σ) Vᵀ, beyond rounding."""
    n = matrix.shape[-1]
    tolerance = 1e3 * n * torch.finfo(values.dtype).eps
    identity = torch.eye(n, dtype=matrix.dtype, device=matrix.device)
    orthogonality = torch.maximum(
        (left.mT @ left - identity).abs().amax((-2, -1)),
        (right @ right.mT - identity).abs().amax((-2, -1)),
    )
    residual = (matrix - (left * values.unsqueeze(-2)) @ right).abs().amax((-2, -1))
    # written so that NaN counts as wrong
    return ~((orthogonality <= tolerance) & (residual <= tolerance * values[:, 0]))
