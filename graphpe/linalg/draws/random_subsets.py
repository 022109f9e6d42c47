"""Random subsets and arrangements as functions of a key."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.draws.random_numbers import uniform

# Draws beyond those that are needed if none repeats another.
_SPARE = 16


def random_arrangements(keys: Tensor, size: int, maximum: int) -> Tensor:
    """Distinct random numbers from 0 to ``maximum`` - 1, each arrangement equally likely.

    Takes the distinct ones of a sequence of draws, in order of appearance. So the first ``m`` numbers do not depend
    on ``size``.

    Args:
        keys: ``[b]`` int64.
        size: How many numbers.
        maximum: At least ``size``.

    Returns:
        ``[b, size]`` int64; row i depends on ``keys[i]`` alone.

    Raises:
        ValueError: If ``size`` is over ``maximum``.
    """
    if size > maximum:
        raise ValueError(f"size is {size}; there are only {maximum} numbers to choose from")
    result = torch.empty(len(keys), size, dtype=torch.int64, device=keys.device)
    unfinished = torch.arange(len(keys), device=keys.device)
    draws = size + _SPARE
    while len(unfinished) > 0:
        numbers = (uniform(keys[unfinished], 1, draws)[:, 0] * maximum).long()
        rank = _is_first(numbers).cumsum(1)  # of distinct numbers so far
        is_enough = rank[:, -1] >= size
        # Number j is where the rank first reaches j + 1.
        wanted = torch.arange(1, size + 1, device=keys.device).expand(int(is_enough.sum()), -1)
        place = torch.searchsorted(rank[is_enough], wanted.contiguous())
        result[unfinished[is_enough]] = numbers[is_enough].gather(1, place)
        unfinished = unfinished[~is_enough]
        draws *= 2
    return result


def _is_first(numbers: Tensor) -> Tensor:
    """``[b, m]`` whether each number has not occurred in its row before."""
    ordered, order = numbers.sort(dim=1, stable=True)
    is_new = torch.ones_like(ordered, dtype=torch.bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.zeros_like(is_new).scatter_(1, order, is_new)
