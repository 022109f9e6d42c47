"""What one process computes and writes to the cache in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from graphpe.fields import Field
from graphpe.graphs import GraphBatch, in_words
from graphpe.precompute.cache.entry import write
from graphpe.precompute.cache.plan import Range
from graphpe.precompute.computing import Failures, Settings, compute
from graphpe.precompute.sizes import Sizes
from graphpe.transforms import Encoding

# Most bytes of the values that are computed in one go, unless a single shard has more.
_VALUES = 1 << 28

# Writes a shard: folder, shard, values and failures, as `graphpe.precompute.cache.entry.write` does.
Write = Callable[[Path, Range, Sequence[Tensor], Failures], object]


class Lacking(NamedTuple):
    """Shards of an entry that have to be computed.

    Args:
        encoding: The encoding.
        folder: The folder of the entry.
        shards: The shards, in ascending order.
    """

    encoding: Encoding
    folder: Path
    shards: tuple[Range, ...]


class Task(NamedTuple):
    """A range of graphs, and what lacks there. It can be sent to another process.

    Args:
        graphs: The graphs.
        lacking: For each entry the shards that lack.
        settings: How to compute.
        invalid: Those of the graphs that have no values, and why.
    """

    graphs: GraphBatch
    lacking: tuple[Lacking, ...]
    settings: Settings
    invalid: Failures

    @property
    def num_shards(self) -> int:
        """How many shards the task makes."""
        return sum(len(own.shards) for own in self.lacking)


def divided(memory_budget: int | None) -> tuple[int | None, int]:
    """Of a memory budget the bytes for graphs, and those for the values that are computed in one go.

    As much as for these is left for the values that wait to be written.
    """
    if memory_budget is None:
        return None, _VALUES
    values = min(_VALUES, memory_budget // 3)
    return memory_budget - 2 * values, values


def run(
    task: Task,
    write: Write = write,
    advance: Callable[[int], object] = lambda count: None,
) -> int:
    """Computes and writes what lacks; encodings that lack the same graphs are computed together.

    Args:
        task: What to do.
        write: Writes a shard.
        advance: Called with the number of graphs each time that some are done.

    Returns:
        The number of graphs of the task.

    Raises:
        ValueError: If a graph fails, the memory budget is too small, or a shard can't be written.
    """
    settings = replace(task.settings, memory_budget=divided(task.settings.memory_budget)[0])
    sizes = Sizes(task.graphs.num_nodes, task.graphs.edge_count)
    first, total = task.graphs.first, len(task.graphs)
    parts: dict[tuple[int, int], list[tuple[Tensor, ...]]] = {}
    failed: dict[tuple[int, int], Failures] = {}
    done = 0
    for unit in _units(task, sizes):
        start, stop = unit[0].start, unit[-1].stop
        wanted = _wanted(task, unit[0])
        graphs = task.graphs.part(start - first, stop - first)
        encodings = [task.lacking[place].encoding for place, _ in wanted]
        computed = compute(graphs, encodings, settings, task.invalid, advance)
        done += len(graphs)
        for piece in unit:
            for (place, shard), values, failures in zip(
                _wanted(task, piece), computed.values, computed.failures, strict=True
            ):
                at = (place, shard.start)
                fields = task.lacking[place].encoding.fields()
                parts.setdefault(at, []).append(_rows_of(piece, values, fields, graphs))
                own = {number: why for number, why in failures.items() if number in range(*piece)}
                failed.setdefault(at, {}).update(own)
                if piece.stop == shard.stop:
                    write(task.lacking[place].folder, shard, _joined(parts.pop(at)), failed.pop(at))
        del computed
    advance(total - done)
    return total


def _units(task: Task, sizes: Sizes) -> Iterator[list[Range]]:
    """The pieces of which something lacks, in lists of neighbours that are computed in one go.

    Larger blocks are faster, but all values of a list are in memory, and those of shards that aren't whole yet.

    Raises:
        ValueError: If the values of a piece are more than the memory budget has room for.
    """
    first = task.graphs.first
    budget = task.settings.memory_budget
    _, most = divided(budget)
    offsets = [sizes.bytes_of(own.encoding.fields()) for own in task.lacking]

    def bytes_from(start: int, piece: Range) -> int:
        """Of the values from ``start``, or from where a shard begins before it, to the end of a piece."""
        return sum(
            int(
                offsets[place][piece.stop - first] - offsets[place][min(start, shard.start) - first]
            )
            for place, shard in _wanted(task, piece)
        )

    unit: list[Range] = []
    places: list[int] = []
    for piece in _pieces(task):
        own = [place for place, _ in _wanted(task, piece)]
        if unit and (own != places or bytes_from(unit[0].start, piece) > most):
            yield unit
            unit = []
        least = bytes_from(piece.start, piece)
        if budget is not None and least > most:
            raise ValueError(
                f"the shards of graph {piece.start:,} have {in_words(least)} of values, which take "
                f"{in_words(3 * least)} of memory_budget, but a process has {in_words(budget)}; give more, or encode "
                "with fewer encodings at a time"
            )
        if own:
            unit.append(piece)
            places = own
    if unit:
        yield unit


def _pieces(task: Task) -> list[Range]:
    """The graphs of a task, cut wherever a shard that lacks begins or ends."""
    ends = {task.graphs.first, task.graphs.first + len(task.graphs)}
    ends |= {end for own in task.lacking for shard in own.shards for end in shard}
    return [Range(start, stop) for start, stop in pairwise(sorted(ends))]


def _wanted(task: Task, piece: Range) -> list[tuple[int, Range]]:
    """Which entries lack a piece, by their place in the task, and the shard that it is in."""
    return [
        (place, shard)
        for place, own in enumerate(task.lacking)
        for shard in own.shards
        if shard.start <= piece.start and piece.stop <= shard.stop
    ]


def _rows_of(
    piece: Range, values: Sequence[Tensor], fields: Sequence[Field], graphs: GraphBatch
) -> tuple[Tensor, ...]:
    """The rows of a piece of some graphs."""
    rows = [
        graphs.rows(field.level)[[piece.start - graphs.first, piece.stop - graphs.first]].tolist()
        for field in fields
    ]
    return tuple(value[start:stop] for value, (start, stop) in zip(values, rows, strict=True))


def _joined(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    if len(parts) == 1:
        return parts[0]
    return tuple(torch.cat(values) for values in zip(*parts, strict=True))
