"""Encoding in this process, on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from torch import Tensor

from graphpe.precompute.cache import entry
from graphpe.precompute.cache.plan import Range
from graphpe.precompute.cache.task import Task, divided, run
from graphpe.precompute.computing import Failures, Settings
from graphpe.precompute.executors.base import Executor


class ThreadsExecutor(Executor):
    """Computes in this process; shards are written by a thread beside those that compute.

    Args:
        workers: Number of threads.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def settings(self, memory_budget: int | None, device: str | None, go_on: bool) -> Settings:
        return Settings(memory_budget, self.workers, device, go_on)

    def run(self, tasks: Iterator[Task], advance: Callable[[int, int], object]) -> None:
        with ThreadPoolExecutor(1) as pool:
            waiting: deque[tuple[Future[None], int]] = deque()

            def wait(most: int) -> None:
                while waiting and sum(size for _, size in waiting) > most:
                    written, _ = waiting.popleft()
                    written.result()
                    advance(0, 1)

            def write(
                folder: Path, shard: Range, values: Sequence[Tensor], failed: Failures
            ) -> None:
                size = sum(value.nbytes for value in values)
                wait(max(0, most - size))
                written = pool.submit(entry.write, folder, shard, values, failed)
                waiting.append((written, size))

            for task in tasks:
                _, most = divided(task.settings.memory_budget)
                run(task, write, lambda graphs: advance(graphs, 0))
            wait(-1)
