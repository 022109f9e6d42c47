"""Whether a network of comparators sorts, by the zero-one principle."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

# Sets of zero-one vectors take 2^width bits each.
MAX_WIDTH = 20


class ZeroOneVectors:
    """The different vectors that a network makes of all zero-one vectors of a width.

    A network sorts everything if and only if it sorts these: if one vector is left for each number of ones. A
    comparator (i, j) with i < j puts the smaller value on wire i and the larger one on wire j.

    The set is kept as one whole number of 2^width bits: bit v stands for the vector whose value on wire i is bit i of
    v. So a comparator is a few operations on whole numbers, and equal vectors are one without any search.

    Args:
        width: Number of wires, from 1 to 20.

    Reference: Knuth, The Art of Computer Programming, volume 3 (1998), section 5.3.4, theorem Z.
    """

    def __init__(self, width: int) -> None:
        self._tables = _tables(width)
        self._vectors = (1 << 2**width) - 1

    def compare_exchange(self, i: int, j: int) -> None:
        """Applies the comparator (i, j), i < j, to all vectors."""
        moved = self._vectors & self._tables.one[i] & self._tables.zero[j]
        self._vectors ^= moved
        self._vectors |= moved << (2**j - 2**i)

    def is_unsorted(self, wire: int) -> bool:
        """Whether some vector differs from its sorted version on this wire."""
        return self._vectors & self._tables.wrong[wire] != 0

    def are_sorted(self) -> bool:
        """Whether all vectors are sorted."""
        return self._vectors == self._tables.sorted

    def __len__(self) -> int:
        return self._vectors.bit_count()


def is_sorting_network(operations: Iterable[tuple[int, int]], width: int) -> bool:
    """Whether comparators (i, j) with i < j, one after the other, sort whatever is on the wires."""
    vectors = ZeroOneVectors(width)
    for i, j in operations:
        vectors.compare_exchange(i, j)
    return vectors.are_sorted()


class _Tables(NamedTuple):
    """Sets of vectors of a width, per wire: those that are one, zero or wrong there; and all that are sorted."""

    one: list[int]
    zero: list[int]
    wrong: list[int]
    sorted: int


@lru_cache(maxsize=8)
def _tables(width: int) -> _Tables:
    if not 1 <= width <= MAX_WIDTH:
        raise ValueError(f"width is {width}; it must be an integer from 1 to {MAX_WIDTH}")
    vectors = np.arange(2**width)
    is_one = [vectors >> wire & 1 == 1 for wire in range(width)]
    ones = np.sum(is_one, axis=0)
    # A sorted vector with c ones has them on the last c wires.
    is_wrong = [is_one[wire] != (ones >= width - wire) for wire in range(width)]
    return _Tables(
        one=[_as_set(column) for column in is_one],
        zero=[_as_set(~column) for column in is_one],
        wrong=[_as_set(column) for column in is_wrong],
        sorted=_as_set(~np.any(is_wrong, axis=0)),
    )


def _as_set(is_member: np.ndarray) -> int:
    return int.from_bytes(np.packbits(is_member, bitorder="little").tobytes(), "little")
