"""Propagation of features over a stack of graphs, normalised after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from graphpe.linalg.laplacian import laplacian, symmetric_transition_matrix, transition_matrix

PropagationOperator = Literal["sym", "sym-loops", "laplacian", "walk"]
PropagationNormalization = Literal["l2", "qr"]

# A feature that a step has shrunk by more than this is zero but for rounding, and is set to zero.
_NEGLIGIBLE = 1e-10


def check_propagation(operator: str, normalization: str) -> None:
    """Raises ``ValueError`` unless both are among the choices."""
    if operator not in get_args(PropagationOperator):
        raise ValueError(
            f"operator is {operator!r}; it must be 'sym', 'sym-loops', 'laplacian' or 'walk'"
        )
    if normalization not in get_args(PropagationNormalization):
        raise ValueError(f"normalization is {normalization!r}; it must be 'l2' or 'qr'")


def propagation_matrix(adjacency: Tensor, operator: PropagationOperator) -> Tensor:
    """The operator S by which features spread.

    | operator | matrix |
    |---|---|
    | ``"sym"`` | D^{-1/2} A D^{-1/2} |
    | ``"sym-loops"`` | the same for A + I |
    | ``"laplacian"`` | I − D^{-1/2} A D^{-1/2}, self-loops removed |
    | ``"walk"`` | D^{-1} A |

    Args:
        adjacency: ``[b, n, n]`` float64; symmetric unless the operator is ``"walk"``.
        operator: One of the four.

    Returns:
        ``[b, n, n]``, of spectral radius at most 2; a node without edges has a zero row, but for
        ``"sym-loops"``, where it keeps what it has.
    """
    if operator == "laplacian":
        return laplacian(adjacency, "sym")
    if operator == "walk":
        return transition_matrix(adjacency)
    if operator == "sym-loops":
        n = adjacency.shape[-1]
        adjacency = adjacency + torch.eye(n, dtype=adjacency.dtype, device=adjacency.device)
    return symmetric_transition_matrix(adjacency)


def trajectory(
    start: Tensor,
    propagate: Callable[[Tensor], Tensor],
    normalization: PropagationNormalization,
    result: Tensor,
) -> None:
    """Fills ``result`` with R_0, R_1, ..., R_P, where R_p = N(S R_{p-1}).

    N divides each feature by its L2 norm over the nodes (``"l2"``), or takes the Q of the thin QR
    decomposition with a positive diagonal of R (``"qr"``). A feature that a step turns to zero
    (shrinks by more than 1e-10), or with ``"qr"`` into a combination of the features before it,
    becomes zero.

    Args:
        start: ``[b, n, t, k]`` features R_0 of t trajectories of b graphs; they are kept as they are.
        propagate: Applies S to features of this shape.
        normalization: ``"l2"`` or ``"qr"``.
        result: ``[b, n, t, P + 1, k]`` of any floating-point dtype; computed in that of ``start``.

    Paper: Eliasof et al., "Graph Positional Encoding via Random Feature Propagation", ICML 2023.
    """
    normalize = _unit_columns if normalization == "l2" else _orthonormal_columns
    features = start
    result[..., 0, :] = start
    least = _NEGLIGIBLE * _norms(start)
    for step in range(1, result.shape[3]):
        features = normalize(propagate(features), least)
        result[..., step, :] = features
        least = torch.full_like(least, _NEGLIGIBLE)  # from now on they are unit vectors


def _norms(columns: Tensor) -> Tensor:
    """``[b, 1, t, k]`` L2 norms over the nodes."""
    return columns.square().sum(1, keepdim=True).sqrt_()


def _unit_columns(columns: Tensor, least: Tensor) -> Tensor:
    """Columns ``[b, n, t, k]`` divided by their norm; those with at most ``least [b, 1, t, k]`` become zero."""
    norms = _norms(columns)
    return columns * torch.where(norms > least, 1.0 / norms, 0.0)


def _orthonormal_columns(columns: Tensor, least: Tensor) -> Tensor:
    """Each column ``[b, n, t, k]`` less its part along those before it, as a unit vector, or zero."""
    matrices, least = columns.transpose(1, 2), least.transpose(1, 2)  # [b, t, n, k], [b, t, 1, k]
    possible = min(matrices.shape[-2:])
    q, r = torch.linalg.qr(matrices[..., :possible])
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    result = torch.zeros_like(matrices)
    result[..., :possible] = q * diagonal.sign().unsqueeze(-2)

    # Householder reflections complete a dependent column at random, which spoils those after it.
    is_deficient = (diagonal.abs() <= least[..., 0, :possible]).any(-1)
    if bool(is_deficient.any()):
        result[is_deficient] = _gram_schmidt(matrices[is_deficient], least[is_deficient])
    return result.transpose(1, 2)


def _gram_schmidt(matrices: Tensor, least: Tensor) -> Tensor:
    """The same for ``[m, n, k]`` by the Gram-Schmidt process, which can leave out dependent columns."""
    result = torch.zeros_like(matrices)
    for number in range(matrices.shape[2]):
        column, before = matrices[..., number : number + 1], result[..., :number]
        for _ in range(2):  # twice is enough to make them orthogonal to rounding
            column = column - before @ (before.mT @ column)
        result[..., number : number + 1] = _unit_columns(column, least[..., number : number + 1])
    return result
