"""Functions of a matrix by its eigenvectors, for a stack of matrices and several functions at once."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time


def spectral_kernels(left: Tensor, right: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """The kernels Σ_j w_jt l_j r_jᵀ.

    Args:
        left: ``[b, n, m]``, vectors l_j in the columns.
        right: ``[b, n, m]``.
        weights: ``[b, m, t]``, one column for each kernel.
        dtype: Of the result; computed in that of the arguments.

    Returns:
        ``[b, n, n, t]``. The result of one graph has the same bytes whatever else is in the stack.
    """
    b, n, _ = left.shape
    kernels = left.new_empty(b, n, n, weights.shape[2], dtype=dtype)
    size = graphs_at_a_time(kernels)
    for l_part, r_part, w_part, out in zip(
        left.split(size), right.split(size), weights.split(size), kernels.split(size), strict=True
    ):
        weighted = r_part.mT.unsqueeze(3) * w_part.unsqueeze(2)  # [parts, m, n, t]
        out.copy_((l_part @ weighted.flatten(2)).view_as(out))
    return kernels


def spectral_kernel_diagonals(vectors: Tensor, weights: Tensor) -> Tensor:
    """The diagonals Σ_j w_jt u_ij² of kernels.

    Sums, not a product of matrices: what that rounds to depends on how many it is given at once.

    Args:
        vectors: ``[b, n, m]``, vectors u_j in the columns.
        weights: ``[b, m, t]``, one column for each kernel.

    Returns:
        ``[b, n, t]``. The result of one graph has the same bytes whatever else is in the stack.
    """
    b, n, _ = vectors.shape
    diagonals = vectors.new_empty(b, n, weights.shape[2])
    size = graphs_at_a_time(vectors)
    for part, w_part, out in zip(
        vectors.split(size), weights.split(size), diagonals.split(size), strict=True
    ):
        squares = part.contiguous().square()
        for kernel, weight in enumerate(w_part.unbind(2)):
            torch.sum(squares * weight.unsqueeze(1), -1, out=out[..., kernel])
    return diagonals
