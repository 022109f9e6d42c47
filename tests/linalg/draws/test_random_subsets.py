"""Random arrangements: distinct numbers, each arrangement equally likely, the same in any stack."""

from __future__ import annotations

import itertools

import pytest
import scipy.stats
import torch

from graphpe.linalg.draws.random_numbers import mix
from graphpe.linalg.draws.random_subsets import random_arrangements


@pytest.mark.parametrize(
    ("size", "maximum"), [(0, 1), (1, 1), (5, 5), (40, 40), (3, 1000), (300, 301)]
)
def test_numbers_are_distinct_and_in_range(size: int, maximum: int) -> None:
    numbers = random_arrangements(torch.arange(30), size, maximum)
    assert numbers.shape == (30, size)
    assert numbers.dtype == torch.int64
    assert bool(((numbers >= 0) & (numbers < maximum)).all())
    assert all(len(set(row)) == size for row in numbers.tolist())


def test_each_arrangement_is_equally_likely() -> None:
    arrangements = list(itertools.permutations(range(5), 3))
    rows = random_arrangements(torch.arange(12_000), 3, 5).tolist()
    counts = [0] * len(arrangements)
    for row in rows:
        counts[arrangements.index(tuple(row))] += 1
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_a_row_depends_on_its_key_alone_and_starts_alike_at_any_size() -> None:
    keys = mix(torch.arange(25))
    together = random_arrangements(keys, 12, 14)
    for key, row in zip(keys, together, strict=True):
        assert torch.equal(random_arrangements(key[None], 12, 14)[0], row)
        assert torch.equal(random_arrangements(key[None], 7, 14)[0], row[:7])


def test_no_keys() -> None:
    assert random_arrangements(torch.arange(0), 3, 5).shape == (0, 3)


def test_more_numbers_than_there_are() -> None:
    with pytest.raises(ValueError, match="size is 6; there are only 5 numbers"):
        random_arrangements(torch.arange(2), 6, 5)
