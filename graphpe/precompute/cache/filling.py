"""Computes what the cache lacks, and writes it there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from graphpe import files
from graphpe.precompute.cache.entry import Entry
from graphpe.precompute.cache.plan import Range, ranges_of, shards_of
from graphpe.precompute.cache.task import Lacking, Task
from graphpe.precompute.computing import Settings
from graphpe.precompute.executors.base import Executor
from graphpe.precompute.stored import StoredGraphs
from graphpe.transforms import Encoding


class Share(NamedTuple):
    """Which part of the work is for this process: the ``number``-th of ``count``, from 1."""

    number: int
    count: int

    def of(self, ranges: Sequence[Range]) -> Sequence[Range]:
        """The ranges that belong to it."""
        return ranges[self.number - 1 :: self.count]

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class Request(NamedTuple):
    """What is wanted of the cache, and how it is computed.

    Args:
        cache_dir: The folder of the cache.
        memory_budget: See `Executor.settings`.
        device: See `Executor.settings`.
        go_on: Whether graphs that fail are noted, and the others computed.
        verify: Whether shards are read for their checksums before they count as there.
    """

    cache_dir: Path
    memory_budget: int | None = None
    device: str | None = None
    go_on: bool = False
    verify: bool = False


def fill(
    graphs: StoredGraphs,
    encodings: Sequence[Encoding],
    request: Request,
    executor: Executor,
    start: Callable[[int, int], object] = lambda graphs, shards: None,
    advance: Callable[[int, int], object] = lambda graphs, shards: None,
    share: Share | None = None,
) -> list[Entry]:
    """Computes the shards that lack, and returns the entries.

    Of several processes that want the same of a dataset one computes and the others wait for it. Where they don't see
    each other's lock, on a file system that has none, both compute, and both end well.

    Args:
        graphs: The graphs.
        encodings: The encodings.
        request: What is wanted.
        executor: Where to compute.
        start: Called once with the numbers of graphs and of shards that there are to do.
        advance: Called with numbers of graphs and of shards each time that some are done.
        share: The part of the work that is for this process; None: all.

    Raises:
        ValueError: If a graph fails, a shard can't be written, or a process is lost.
    """
    content = graphs.fingerprint()
    ranges = ranges_of(graphs.sizes)
    entries = [
        Entry(
            request.cache_dir,
            content,
            encoding,
            shards_of(ranges, graphs.sizes, encoding.fields()),
        )
        for encoding in encodings
    ]
    mine = ranges if share is None else share.of(ranges)
    retry_failed = not request.go_on
    lacking, damage = _lacking(entries, ranges, request.verify, retry_failed)
    if not any(lacking.values()) and all(entry.is_finished for entry in entries):
        start(0, 0)
        with suppress(
            ValueError, OSError
        ):  # a cache that has all may be one that can't be written to
            if not all(entry.is_tidy for entry in entries):
                _finish(entries, request.cache_dir / content, must=False)
        return entries
    for reason in (reason for each in mine for reason in damage[each]):
        warnings.warn(f"{reason}; it is computed anew", UserWarning, stacklevel=5)
    lock = ".lock" if share is None else f".lock-{share.number}-of-{share.count}"
    with files.exclusive(request.cache_dir / content, lock):
        lacking, _ = _lacking(entries, mine, request.verify, retry_failed)
        own = {each: lacking[each] for each in mine if lacking[each]}
        settings = executor.settings(request.memory_budget, request.device, request.go_on)
        start(
            sum(each.stop - each.start for each in own),
            sum(len(one.shards) for ones in own.values() for one in ones),
        )
        if own:
            executor.run(_tasks(graphs, own, settings), advance)
    _finish(entries, request.cache_dir / content, must=share is None)
    return entries


def _lacking(
    entries: Sequence[Entry], ranges: Sequence[Range], verify: bool, retry_failed: bool
) -> tuple[dict[Range, list[Lacking]], dict[Range, list[str]]]:
    """What lacks in each range, and what is wrong with shards there that are damaged."""
    lacking: dict[Range, list[Lacking]] = {each: [] for each in ranges}
    damage: dict[Range, list[str]] = {each: [] for each in ranges}
    for entry in entries:
        found = entry.lacking(verify, retry_failed)
        position = 0
        for each in ranges:
            own = []
            while position < len(found) and found[position][0].start < each.stop:
                shard, reason = found[position]
                if shard.start >= each.start:
                    own.append(shard)
                    damage[each] += [reason] if reason else []
                position += 1
            if own:
                lacking[each].append(Lacking(entry.encoding, entry.folder, tuple(own)))
    return lacking, damage


def _tasks(
    graphs: StoredGraphs, lacking: dict[Range, list[Lacking]], settings: Settings
) -> Iterator[Task]:
    for each, own in lacking.items():
        invalid = {
            number: why
            for number, why in graphs.invalid.items()
            if each.start <= number < each.stop
        }
        yield Task(graphs.part(each.start, each.stop), tuple(own), settings, invalid)


def _finish(entries: Sequence[Entry], folder: Path, must: bool) -> None:
    """Writes the manifests of entries whose shards are all there."""
    with files.exclusive(folder, ".lock-of-manifests"):
        for entry in entries:
            if not entry.finish() and must:
                missing = entry.shards[entry.receipts().index(None)]
                raise ValueError(
                    f"the graphs {missing.start:,} to {missing.stop - 1:,} have no shard in {entry.folder}; all "
                    "processes that encode must write to the same folder"
                )
