"""The split of packages into parts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphpe.data.source_code.split import split_packages

FRACTIONS = {"train": 0.8, "valid": 0.1, "test": 0.1}


@given(
    st.dictionaries(st.text(min_size=1), st.integers(1, 500), min_size=3, max_size=60),
    st.integers(0, 5),
)
def test_every_package_has_a_part_and_every_part_a_package(
    sizes: dict[str, int], seed: int
) -> None:
    parts = split_packages(sizes, FRACTIONS, seed)
    assert parts.keys() == sizes.keys()
    assert set(parts.values()) == set(FRACTIONS)
    # Neither the order of the packages nor the time matters.
    backwards = dict(reversed(sizes.items()))
    assert split_packages(backwards, FRACTIONS, seed) == parts


@given(st.integers(0, 100))
def test_parts_are_as_large_as_packages_allow(seed: int) -> None:
    sizes = {f"large{i}": 100 for i in range(8)} | {f"small{i}": 1 for i in range(200)}
    counts: Counter[str] = Counter()
    for package, part in split_packages(sizes, FRACTIONS, seed).items():
        counts[part] += sizes[package]
    assert counts == {"train": 800, "valid": 100, "test": 100}


def test_the_seed_matters() -> None:
    sizes = {str(number): 10 for number in range(20)}
    splits = {tuple(split_packages(sizes, FRACTIONS, seed).values()) for seed in range(5)}
    assert len(splits) == 5


def test_too_few_packages() -> None:
    with pytest.raises(ValueError, match=r"2 top-level packages .* \(a, b\).*needs 3; give the"):
        split_packages({"a": 1, "b": 2}, FRACTIONS, 0)
