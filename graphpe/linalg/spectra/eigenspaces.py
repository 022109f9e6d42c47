"""Which eigenvalues of an ascending list are one and the same, and means over their eigenspaces."""

from __future__ import annotations

import torch
from torch import Tensor

# Neighbours closer than this, relative to the larger one, are equal ...
_RELATIVE_TOLERANCE = 1e-6
# ... and so are those within the rounding of an eigensolver, which is relative to the whole spectrum.
_ROUNDING = 1e-12


def eigenspace_starts(values: Tensor, zeros: Tensor, bound: Tensor | float) -> Tensor:
    """Where a new eigenspace begins.

    Two neighbours are equal if they differ by at most 1e-6 of the larger one or 1e-12 of ``bound``;
    equality is passed on from neighbour to neighbour. The eigenspace of 0 ends where ``zeros`` says.

    Args:
        values: ``[b, m]``, ascending.
        zeros: ``[b, 1]`` number of eigenvalues that are 0.
        bound: ``[b, 1]`` or a number: the order of magnitude of the largest eigenvalue.

    Returns:
        ``[b, m]`` bool: whether a column is the first one of its eigenspace.
    """
    starts = torch.ones_like(values, dtype=torch.bool)
    starts[:, 1:] = values.diff() > _RELATIVE_TOLERANCE * values[:, 1:] + _ROUNDING * bound
    column = torch.arange(values.shape[1], device=values.device)
    return torch.where(column < zeros, column == 0, starts | (column == zeros))


def scale_starts(values: Tensor, zeros: Tensor, bound: Tensor | float) -> Tensor:
    """Where columns with a scale of their own begin: the columns of an eigenspace have one in common.

    Any other choice would depend on the basis that the solver happened to return. Only the basis of
    the eigenvalue 0 is known, one vector for each component: each of these has its own scale.

    Args:
        values: As for :func:`eigenspace_starts`.
        zeros: The same.
        bound: The same.

    Returns:
        ``[b, m]`` bool.
    """
    column = torch.arange(values.shape[1], device=values.device)
    return eigenspace_starts(values, zeros, bound) | (column < zeros)


def means_over_eigenspaces(columns: Tensor, starts: Tensor) -> Tensor:
    """Puts in place of each entry the mean of its row over the columns of the same eigenspace.

    Args:
        columns: ``[b, r, m]``.
        starts: ``[b, m]`` bool, whether a column is the first of its eigenspace.

    Returns:
        ``[b, r, m]``.
    """
    if bool(starts.all()):
        return columns
    space = eigenspace_numbers(starts)
    multiplicity = torch.zeros_like(columns[:, 0]).scatter_add_(
        1, space, torch.ones_like(columns[:, 0])
    )
    space = space.unsqueeze(1).expand_as(columns)
    sums = torch.zeros_like(columns).scatter_add_(2, space, columns)
    return (sums / multiplicity.clamp_min_(1.0).unsqueeze(1)).gather(2, space)


def eigenspace_numbers(starts: Tensor) -> Tensor:
    """``[b, m]`` int64: the number of the eigenspace of each column, from 0."""
    return starts.cumsum(-1) - 1
