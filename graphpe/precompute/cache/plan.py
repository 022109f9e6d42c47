"""How the graphs of a dataset are divided: into ranges that are computed in one go, and within them into shards.

Both are made by halving, so that every shard of one encoding is a union of shards of another or a part of one. They
depend on the sizes of the graphs and on what an encoding writes only: every run divides a dataset alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from graphpe.fields import Field
from graphpe.precompute.sizes import Sizes

# What a range has at most, unless it is of one graph. A range of so many pairs takes seconds to minutes.
_GRAPHS, _PAIRS = 8192, 1 << 24

# What the fields of an encoding take at most in a shard, unless it is of one graph.
SHARD_BYTES = 1 << 27


class Range(NamedTuple):
    """The graphs from ``start`` to before ``stop``."""

    start: int
    stop: int


def ranges_of(sizes: Sizes) -> list[Range]:
    """The ranges that are computed in one go, one after the other."""
    pairs = sizes.rows("pair")
    whole = [
        Range(start, min(start + _GRAPHS, len(sizes))) for start in range(0, len(sizes), _GRAPHS)
    ]
    return [part for each in whole for part in _halved(each, pairs, _PAIRS)]


def shards_of(ranges: Sequence[Range], sizes: Sizes, fields: Sequence[Field]) -> list[Range]:
    """The shards of an encoding that writes ``fields``, one after the other."""
    offsets = sizes.bytes_of(fields)
    return [shard for each in ranges for shard in _halved(each, offsets, SHARD_BYTES)]


def _halved(whole: Range, offsets: Tensor, limit: int) -> Iterator[Range]:
    """Parts of a range none of which is over the limit, unless it is one graph."""
    start, stop = whole
    if stop - start == 1 or int(offsets[stop] - offsets[start]) <= limit:
        yield whole
        return
    middle = (start + stop) // 2
    yield from _halved(Range(start, middle), offsets, limit)
    yield from _halved(Range(middle, stop), offsets, limit)
