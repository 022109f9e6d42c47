"""Operators of a stack of graphs of equal size: degrees, Laplacians, transition matrices.

Everywhere ``adjacency`` is ``[b, n, n]`` float64 with finite, non-negative entries, row = source;
the entry ``[u, v]`` is the summed weight of the edges u→v.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

Normalization = Literal["none", "sym", "rw"]


def check_normalization(normalization: str) -> None:
    """Raises ``ValueError`` unless ``normalization`` is ``"none"``, ``"sym"`` or ``"rw"``."""
    if normalization not in get_args(Normalization):
        raise ValueError(f"normalization is {normalization!r}; choose 'none', 'sym' or 'rw'")


def check_finite(matrix: Tensor) -> None:
    """Raises ``ValueError`` naming the first matrix of ``[b, n, n]`` with a NaN or infinite entry."""
    finite = torch.isfinite(matrix.sum((-2, -1)))  # one NaN, inf or overflow spoils the sum
    if not bool(finite.all()):
        position = int((~finite).nonzero()[0])
        raise ValueError(
            f"matrix {position} of the stack has NaN, infinite or huge entries; "
            "correct the edge weights"
        )


def degree(adjacency: Tensor) -> Tensor:
    """Weighted out-degree, d_i = Σ_j A_ij; a self-loop counts once.

    Args:
        adjacency: ``[b, n, n]``.

    Returns:
        ``[b, n]``.
    """
    return adjacency.contiguous().sum(-1)


def without_self_loops(adjacency: Tensor) -> Tensor:
    """A copy of ``adjacency`` ``[b, n, n]`` with a zero diagonal."""
    copy = adjacency.clone(memory_format=torch.contiguous_format)
    copy.diagonal(dim1=-2, dim2=-1).zero_()
    return copy


def laplacian(adjacency: Tensor, normalization: Normalization = "sym") -> Tensor:
    """The graph Laplacian of each graph of a stack, self-loops removed (as PyG does).

    | normalization | matrix |
    |---|---|
    | ``"none"`` | L = D − A |
    | ``"sym"`` | L_sym = I − D^{-1/2} A D^{-1/2} |
    | ``"rw"`` | L_rw = I − D^{-1} A |

    The row of an isolated node is zero in all three, so the multiplicity of the eigenvalue 0 is the
    number of connected components.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric.
        normalization: ``"none"``, ``"sym"`` or ``"rw"``.

    Returns:
        ``[b, n, n]``.

    Raises:
        ValueError: If ``normalization`` is none of the three.
    """
    check_normalization(normalization)
    result = without_self_loops(adjacency).neg_()
    degrees = degree(result).neg_()
    if normalization == "none":
        diagonal = degrees
    else:
        diagonal = (degrees > 0).to(result.dtype)
        if normalization == "sym":
            scale = inverse_or_zero(degrees.sqrt())
            # the product of the scales first: s_i s_j = s_j s_i keeps the result exactly symmetric
            result *= scale.unsqueeze(-1) * scale.unsqueeze(-2)
        else:
            result *= inverse_or_zero(degrees).unsqueeze(-1)
    result.diagonal(dim1=-2, dim2=-1).copy_(diagonal)
    return result


def transition_matrix(adjacency: Tensor) -> Tensor:
    """Transition matrix of the random walk, P = D^{-1} A, self-loops kept.

    Args:
        adjacency: ``[b, n, n]`` float64; may be directed.

    Returns:
        ``[b, n, n]``; rows sum to 1, the row of a node without outgoing edges is zero.
    """
    degrees = degree(adjacency).unsqueeze(-1)
    return adjacency / torch.where(degrees > 0, degrees, 1.0)


def symmetric_transition_matrix(adjacency: Tensor) -> Tensor:
    """S = D^{-1/2} A D^{-1/2}, self-loops kept: similar to the transition matrix of a symmetric A.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric.

    Returns:
        ``[b, n, n]``, symmetric; zero in the row and column of a node without edges.
    """
    scale = inverse_or_zero(degree(adjacency).sqrt())
    return adjacency * (scale.unsqueeze(-1) * scale.unsqueeze(-2))


def inverse_or_zero(values: Tensor) -> Tensor:
    """1/x where x > 0, else 0."""
    return torch.where(values > 0, 1.0 / values, 0.0)
