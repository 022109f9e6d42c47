"""Propagation of features over a stack of graphs, normalised after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from graphpe.linalg.laplacian import laplacian, symmetric_transition_matrix, transition_matrix

PropagationOperator = Literal["sym", "sym-loops", "laplacian", "walk"]
PropagationNormalization = Literal["l2", "qr"]

# A row that a step has shrunk by more than this is zero but for rounding, and is set to zero.
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
        ``[b, n, n]``, of norm at most 2; a node without edges has a zero row, but for
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
    steps: int,
    normalization: PropagationNormalization,
) -> Tensor:
    """R_0, R_1, ..., R_P with R_p = N(S R_{p-1}).

    N divides each feature by its L2 norm over the nodes (``"l2"``), or takes the Q of the thin QR
    decomposition with a positive diagonal of R (``"qr"``). A feature that a step turns to zero
    (shrinks by more than 1e-10), or with ``"qr"`` into a combination of the features before it,
    becomes zero.

    Args:
        start: ``[b, t, k, n]`` features R_0 of t trajectories of b graphs, one feature per row; they are
            kept as they are.
        propagate: Applies S to features of this shape.
        steps: Number of steps P.
        normalization: ``"l2"`` or ``"qr"``.

    Returns:
        ``[b, t, P + 1, k, n]``.

    Paper: Eliasof et al., "Graph Positional Encoding via Random Feature Propagation", ICML 2023.
    """
    normalize = _unit_rows if normalization == "l2" else _orthonormal_rows
    features = [start]
    least = _NEGLIGIBLE * start.norm(dim=-1)
    for _ in range(steps):
        features.append(normalize(propagate(features[-1]), least))
        least = torch.full_like(least, _NEGLIGIBLE)  # from now on they are unit vectors
    return torch.stack(features, dim=2)


def _unit_rows(rows: Tensor, least: Tensor) -> Tensor:
    """Rows ``[..., n]`` divided by their norm; those with a norm of at most ``least [...]`` become zero."""
    norm = rows.norm(dim=-1)
    scale = torch.where(norm > least, 1.0 / norm, 0.0)
    return rows * scale.unsqueeze(-1)


def _orthonormal_rows(rows: Tensor, least: Tensor) -> Tensor:
    """Each row ``[b, t, k, n]`` less its part along those before it, as a unit vector, or zero."""
    k, n = rows.shape[-2:]
    possible = min(k, n)
    q, r = torch.linalg.qr(rows[..., :possible, :].mT)
    diagonal = r.diagonal(dim1=-2, dim2=-1)
    result = torch.zeros_like(rows)
    result[..., :possible, :] = (q * diagonal.sign().unsqueeze(-2)).mT

    # Householder reflections complete a dependent row at random, which spoils those after it.
    is_deficient = (diagonal.abs() <= least[..., :possible]).any(-1)
    if bool(is_deficient.any()):
        result[is_deficient] = _gram_schmidt(rows[is_deficient], least[is_deficient])
    return result


def _gram_schmidt(rows: Tensor, least: Tensor) -> Tensor:
    """The same for ``[m, k, n]`` by the Gram-Schmidt process, which can leave out dependent rows."""
    result = torch.zeros_like(rows)
    for number in range(rows.shape[1]):
        row, before = rows[:, number : number + 1], result[:, :number]
        for _ in range(2):  # twice is enough to make them orthogonal to rounding
            row = row - (row @ before.mT) @ before
        result[:, number : number + 1] = _unit_rows(row, least[:, number : number + 1])
    return result
