"""Arithmetic of ragged lists: rows of different lengths, one after the other in a flat tensor."""

from __future__ import annotations

import torch
from torch import Tensor


def offsets_of(counts: Tensor) -> Tensor:
    """Where each row starts, and the end of the last: ``[R]`` lengths to ``[R + 1]``."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def ragged_arange(counts: Tensor) -> tuple[Tensor, Tensor]:
    """The row and the position in its row of each entry.

    For lengths [2, 3] the rows are [0, 0, 1, 1, 1] and the positions [0, 1, 0, 1, 2].

    Args:
        counts: ``[R]`` length of each row.

    Returns:
        Two int64 tensors ``[counts.sum()]``.
    """
    row = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    starts = counts.cumsum(0) - counts
    return row, torch.arange(len(row), device=counts.device) - starts[row]
