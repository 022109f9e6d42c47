"""`fill_cache`: computes encodings of a dataset into a cache."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from graphpe.precompute.cache.entry import Entry
from graphpe.precompute.cache.filling import Share
from graphpe.precompute.cache.plan import ranges_of
from graphpe.precompute.cache.task import Task
from graphpe.precompute.computing import Failures, OnError, Settings
from graphpe.precompute.executors import Executor
from graphpe.precompute.run import Run, require_graphs
from graphpe.precompute.stored import StoredGraphs
from graphpe.transforms import Encoding

if TYPE_CHECKING:
    from distributed import Client


class FilledEntry(NamedTuple):
    """What the cache has of one encoding.

    Args:
        encoding: The encoding.
        folder: Where it is.
        computed: Number of shards that were computed now.
        present: Number of shards that are there, with these.
        bytes: Size of all these.
        failures: Numbers of the graphs that have no values, and why.
    """

    encoding: Encoding
    folder: Path
    computed: int
    present: int
    bytes: int
    failures: Failures


class CacheReport(NamedTuple):
    """What `fill_cache` did.

    Args:
        entries: For each encoding what the cache has.
        num_graphs: Number of graphs of the dataset.
        encoded: Number of graphs of which something was computed now.
        seconds: How long that took, without reading the dataset.
        missing: The shares that are not done; empty if all is there.
    """

    entries: tuple[FilledEntry, ...]
    num_graphs: int
    encoded: int
    seconds: float
    missing: tuple[Share, ...]

    @property
    def failures(self) -> Failures:
        """Numbers of the graphs that lack the values of an encoding, and why."""
        every: Failures = {}
        for entry in self.entries:
            every = {**entry.failures, **every}
        return dict(sorted(every.items()))


def fill_cache(
    dataset: Any,
    encodings: Sequence[Encoding] | Encoding,
    *,
    cache_dir: str | Path,
    workers: int | None = None,
    executor: Literal["threads", "processes"] | Client = "threads",
    device: str | None = None,
    memory_budget: int | None = None,
    on_error: OnError = "raise",
    verify: bool = False,
    share: Share | None = None,
    progress: bool = True,
) -> CacheReport:
    """Computes encodings of all graphs of a dataset into a cache, where `graphpe.encode` finds them.

    Args:
        dataset: As for `graphpe.encode`, and so are the other arguments.
        encodings: What to compute.
        cache_dir: Folder of the cache.
        workers: Number of threads, or of processes.
        executor: Where to compute.
        device: Where to compute.
        memory_budget: Bytes for what is worked on at the same time.
        on_error: What to do about a graph that can't be read or encoded: ``"raise"`` an error, or note it and go on.
        verify: Whether to read all of what the cache has for its checksums.
        share: The part of the graphs that this process computes, where several are started for one dataset; None: all.
        progress: Whether to show how far it is.

    Raises:
        TypeError: If ``dataset`` or an encoding is of another kind.
        ValueError: If a graph is invalid (the message names it), two encodings write the same field, or a shard can't
            be written.
    """
    run = Run(
        encodings,
        cache_dir=cache_dir,
        workers=workers,
        executor=executor,
        device=device,
        memory_budget=memory_budget,
        on_error=on_error,
        verify=verify,
        progress=progress,
    )
    require_graphs(dataset)
    graphs = run.read(dataset)
    counting = _Counting(run.executor)
    start = time.perf_counter()
    entries = run.fill(graphs, counting, share)
    return CacheReport(
        entries=tuple(_filled(entry, counting.shards[entry.folder]) for entry in entries),
        num_graphs=len(graphs),
        encoded=counting.graphs,
        seconds=time.perf_counter() - start,
        missing=_missing(graphs, entries, share),
    )


class _Counting(Executor):
    """Runs tasks elsewhere, and counts what they are to compute.

    Args:
        executor: Where.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.shards: Counter[Path] = Counter()  # by the folder of the entry
        self.graphs = 0

    def settings(self, memory_budget: int | None, device: str | None, go_on: bool) -> Settings:
        return self.executor.settings(memory_budget, device, go_on)

    def run(self, tasks: Iterator[Task], advance: Callable[[int, int], object]) -> None:
        self.executor.run(map(self._count, tasks), advance)

    def _count(self, task: Task) -> Task:
        self.graphs += len(task.graphs)
        for own in task.lacking:
            self.shards[own.folder] += len(own.shards)
        return task


def _filled(entry: Entry, computed: int) -> FilledEntry:
    receipts = [receipt for receipt in entry.receipts() if receipt is not None]
    return FilledEntry(
        entry.encoding,
        entry.folder,
        computed,
        len(receipts),
        sum(receipt.bytes for receipt in receipts),
        {number: why for receipt in receipts for number, why in receipt.failed.items()},
    )


def _missing(
    graphs: StoredGraphs, entries: Sequence[Entry], share: Share | None
) -> tuple[Share, ...]:
    """The shares of which a shard is not there."""
    if share is None:
        return ()
    starts = {
        shard.start
        for entry in entries
        for shard, _ in entry.lacking(verify=False, retry_failed=False)
    }
    ranges = ranges_of(graphs.sizes)
    every = [Share(number, share.count) for number in range(1, share.count + 1)]
    return tuple(
        each
        for each in every
        if any(start <= first < stop for start, stop in each.of(ranges) for first in starts)
    )
