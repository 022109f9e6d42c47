"""Functions of a matrix by its eigenvectors, for a stack of matrices and several functions at once."""

from __future__ import annotations

from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time


def spectral_kernels(left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
    """The kernels Σ_j w_jt l_j r_jᵀ.

    Args:
        left: ``[b, n, m]``, vectors l_j in the columns.
        right: ``[b, n, m]``.
        weights: ``[b, m, t]``, one column for each kernel.

    Returns:
        ``[b, n, n, t]``. The result of one graph has the same bytes whatever else is in the stack.
    """
    b, n, _ = left.shape
    kernels = left.new_empty(b, n, n, weights.shape[2])
    size = graphs_at_a_time(kernels)
    for l_part, r_part, w_part, out in zip(
        left.split(size), right.split(size), weights.split(size), kernels.split(size), strict=True
    ):
        weighted = l_part.unsqueeze(1) * w_part.mT.unsqueeze(2)  # [parts, t, n, m]
        stacked = weighted.flatten(1, 2) @ r_part.mT
        out.copy_(stacked.unflatten(1, weighted.shape[1:3]).permute(0, 2, 3, 1))
    return kernels
