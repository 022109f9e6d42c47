"""The first k eigenpairs behind the trivial ones, and whether k cuts through an eigenspace."""

from __future__ import annotations

import torch
from torch import Tensor


def select_eigenpairs(
    values: Tensor, vectors: Tensor, starts: Tensor, first: Tensor, k: int, complete: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The eigenpairs from number ``first`` on, at most k of them.

    Args:
        values: ``[b, m]``, ascending; the one after the last selected must be there if it exists.
        vectors: ``[b, n, m]``.
        starts: ``[b, m]`` bool, whether a column is the first of its eigenspace.
        first: ``[b, 1]`` int64.
        k: Number of columns wanted.
        complete: Whether to leave out the eigenspace that k cuts through.

    Returns:
        Vectors ``[b, n, min(k, m)]`` and values ``[b, min(k, m)]``, zero in the columns that a graph
        does not have; the number of the others ``[b, 1]`` int64; and ``[b, 1]`` bool, whether the
        k-th eigenvalue equals the next one, so that k cuts through their eigenspace.
    """
    b, m = values.shape
    if m == 0:
        none = torch.zeros(b, 1, dtype=torch.long, device=values.device)
        return vectors, values, none, none.bool()
    numbers = torch.arange(m, device=values.device)
    after = (first + k).clamp_max(m)
    has_next = (after < m) & (after > first)
    is_cut = has_next & ~starts.gather(1, after.clamp_max(m - 1))
    if complete:
        start_of_own = torch.where(starts, numbers, 0).cummax(-1).values
        after = torch.where(is_cut, start_of_own.gather(1, (after - 1).clamp_min(0)), after)
    count = (after - first).clamp_min(0)

    wanted = numbers[:k]
    column = (first + wanted).clamp_max(m - 1)
    is_there = wanted < count
    values = torch.where(is_there, values.gather(1, column), 0.0)
    vectors = vectors.gather(2, column.unsqueeze(1).expand(-1, vectors.shape[1], -1))
    return torch.where(is_there.unsqueeze(1), vectors, 0.0), values, count, is_cut
