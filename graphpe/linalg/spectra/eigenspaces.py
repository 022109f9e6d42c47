"""Which eigenvalues of an ascending list are one and the same."""

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


def eigenspace_numbers(starts: Tensor) -> Tensor:
    """``[b, m]`` int64: the number of the eigenspace of each column, from 0."""
    return starts.cumsum(-1) - 1
