"""Values of encodings from the cache, computed where they are not there yet."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor

from graphpe import files
from graphpe.graphs import GraphBatch
from graphpe.precompute.cache.entry import Entry
from graphpe.precompute.cache.keys import fingerprint
from graphpe.precompute.cache.plan import shards_of
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values


def cached_values(
    graphs: GraphBatch,
    encodings: Sequence[Encoding],
    cache_dir: Path,
    compute: Callable[[GraphBatch, Sequence[Encoding], Callable[[int], object]], Values],
    advance: Callable[[int], object],
) -> Values:
    """The values of all encodings; what is computed is written to the cache shard by shard.

    Encodings that lack the same shard are computed together, so that they share what they have in common. Of several
    processes on one dataset one computes and the others wait for it.

    Args:
        graphs: The graphs.
        encodings: The encodings.
        cache_dir: The folder of the cache.
        compute: Gives the values of some encodings for a part of the graphs, and tells how many are done.
        advance: Called with the number of graphs each time that some are done.
    """
    content = fingerprint(graphs)
    shards = shards_of(graphs)
    entries = [Entry(cache_dir, content, encoding, shards) for encoding in encodings]
    with files.exclusive(cache_dir / content):
        lacking = _lacking(entries)
        for number, (start, stop) in enumerate(shards):
            wanted = lacking.get(number, [])
            if not wanted:
                advance(stop - start)
                continue
            part = graphs.part(start, stop)
            values = compute(part, [entry.encoding for entry in wanted], advance)
            for entry, own in zip(wanted, values, strict=True):
                entry.write(number, own)
        changed = {id(entry) for own in lacking.values() for entry in own}
        for entry in entries:
            if id(entry) in changed or not entry.is_finished:
                entry.finish()
    return [_as_computed(entry.encoding, entry.read(), graphs) for entry in entries]


def _as_computed(
    encoding: Encoding, values: tuple[Tensor, ...], graphs: GraphBatch
) -> tuple[Tensor, ...]:
    """Values on the device of the graphs, those of edges in the order of the caller's edge list.

    Entries have the edges in the order of the graphs.
    """
    values = tuple(value.to(graphs.device) for value in values)
    if graphs.edge_order is None:
        return values
    place = graphs.edge_order.argsort()
    return tuple(
        value[place] if field.level == "edge" else value
        for field, value in zip(encoding.fields(), values, strict=True)
    )


def _lacking(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    """Which entries lack each shard; names those that are damaged."""
    lacking: dict[int, list[Entry]] = {}
    for entry in entries:
        for number, damage in entry.missing():
            if damage:
                warnings.warn(f"{damage}; it is computed anew", UserWarning, stacklevel=4)
            lacking.setdefault(number, []).append(entry)
    return lacking
