"""Normalisation of features over the nodes of each graph of a batch, safe at zero and at dependent columns."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from graphpe.nn.layout import GraphLayout
from graphpe.nn.stacks import Stacks

# A column whose part orthogonal to the columns before it is at most this part of its length counts as dependent on
# them. Gram matrices square it, and a column that is kept at this limit amplifies rounding by 1 / limit; so it must be
# well above the cube root of the precision of float64.
_DEPENDENT = 1e-4


def negligible(dtype: torch.dtype) -> float:
    """The factor by which a step may shrink a column: what is left of a shorter one is rounding errors."""
    return torch.finfo(dtype).eps ** (2 / 3)


def square_norms(columns: Tensor, layout: GraphLayout) -> Tensor:
    """Squared L2 norm of each column ``[N, t, k]`` over the nodes of each graph, ``[B, t, k]``."""
    return scatter(columns.square(), layout.batch, dim=0, dim_size=layout.num_graphs)


def unit_columns(columns: Tensor, least: Tensor, layout: GraphLayout) -> Tensor:
    """Divides each column by its L2 norm over the nodes of its graph; short columns become zero.

    Args:
        columns: ``[N, t, k]``.
        least: ``[B, t, k]`` squared norms; columns that are not longer become zero.
        layout: Where the graphs lie.
    """
    squares = square_norms(columns, layout)
    is_long = squares > least
    inverse = torch.where(is_long, torch.where(is_long, squares, 1).rsqrt(), 0)
    return columns * inverse[layout.batch]


def orthonormal_columns(matrices: Tensor) -> Tensor:
    """The thin Q of a QR decomposition with a positive diagonal of R; zero for dependent columns.

    Twice Q = A L^{-T}, where L Lᵀ = Aᵀ A is the Cholesky decomposition without the rows and columns of dependent
    columns of A. So gradients are finite, too. Computed in float64.

    Args:
        matrices: ``[..., n, k]`` with columns of length 1 or 0; more columns than rows are fine.

    Returns:
        ``[..., n, k]``.

    Paper: Yamamoto et al., "Roundoff error analysis of the CholeskyQR2 algorithm", ETNA 44, 2015.
    """
    result = matrices.double()
    with torch.no_grad():
        independent = _independent_columns(result.mT @ result)
    result = torch.where(independent[..., None, :], result, 0)
    for _ in range(2):
        # A 1 on the diagonal in place of a column that is zero.
        gram = result.mT @ result + torch.diag_embed((~independent).double())
        lower, _ = torch.linalg.cholesky_ex(gram)
        result = torch.linalg.solve_triangular(lower.mT, result, upper=True, left=False)
    return result.to(matrices.dtype)


def _independent_columns(gram: Tensor) -> Tensor:
    """Which columns are not combinations of those before them.

    Args:
        gram: ``[..., k, k]`` their inner products.

    Returns:
        ``[..., k]`` bool.
    """
    rest = gram.clone()  # inner products of what is left of each column
    independent = []
    for number in range(gram.size(-1)):
        pivot = rest[..., number, number]
        is_independent = pivot > _DEPENDENT**2
        independent.append(is_independent)
        inverse = torch.where(is_independent, 1 / torch.where(is_independent, pivot, 1), 0)
        part = rest[..., number]
        rest = rest - inverse[..., None, None] * part[..., :, None] * part[..., None, :]
    return (
        torch.stack(independent, dim=-1)
        if independent
        else gram.new_zeros(gram.shape[:-1], dtype=torch.bool)
    )


def map_graphs(function: Callable[[Tensor], Tensor], x: Tensor, stacks: Stacks) -> Tensor:
    """Applies a function to the matrices of each graph.

    Args:
        function: ``[g, t, w, k]`` to the same shape, for g graphs of at most w nodes; rows beyond those of a graph are
            zero, and are left out afterwards.
        x: ``[N, t, k]``.
        stacks: The graphs.
    """
    results = []
    for stack in stacks.stacks:
        padded = stack.gather(x.flatten(1)).unflatten(2, x.shape[1:])
        if stack.valid is not None:
            padded = torch.where(stack.valid[..., None, None], padded, 0)
        results.append(function(padded.transpose(1, 2)).transpose(1, 2).flatten(2))
    return stacks.unstack(results).unflatten(1, x.shape[1:])
