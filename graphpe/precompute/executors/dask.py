"""Encoding on a Dask cluster, whose workers may die and join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import islice

from distributed import CancelledError, Client, Future, as_completed
from distributed.scheduler import KilledWorker

from graphpe.files import one_line
from graphpe.precompute.cache.task import Task
from graphpe.precompute.computing import Settings
from graphpe.precompute.executors.base import Executor
from graphpe.precompute.executors.processes import Done, ShownWarnings, run_task, sendable

# Tasks that wait for each thread of the cluster, besides the one that it works on.
_AHEAD = 1

# Seconds that a cluster may be without workers before that is an error.
_PATIENCE = 60


class DaskExecutor(Executor):
    """Computes on a Dask cluster, whose workers write the shards to the cache themselves.

    A task whose worker is lost is given to another one; what it had written is written again, to the same bytes.

    Args:
        client: The client of the cluster.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def settings(self, memory_budget: int | None, device: str | None, go_on: bool) -> Settings:
        return Settings(memory_budget, 1, device, go_on)

    def run(self, tasks: Iterator[Task], advance: Callable[[int, int], object]) -> None:
        self._require_workers()
        running = as_completed([], with_results=False)
        shown = ShownWarnings()
        waiting = 0
        try:
            while True:
                for task in islice(tasks, max(0, self._room() - waiting)):
                    running.add(self._submit(task))
                    waiting += 1
                if not waiting:
                    return
                done = self._result(next(running))
                waiting -= 1
                advance(done.graphs, done.shards)
                shown.show(done.warnings)
        finally:
            self.client.cancel(list(running.futures), force=True)

    def _submit(self, task: Task) -> Future:
        # Each task is one of its own, whatever it holds: to hash that would take time.
        return self.client.submit(run_task, sendable(task), pure=False)

    def _room(self) -> int:
        """How many tasks the cluster has use for now; workers come and go."""
        threads = sum(self.client.nthreads().values())
        return max(1, (1 + _AHEAD) * threads)

    def _result(self, future: Future) -> Done:
        try:
            return future.result()
        except KilledWorker as error:
            raise ValueError(
                "a task was given up after several workers that had it were lost; if memory ran out, give workers more "
                "or encode with a smaller memory_budget, and encode again: what was written is kept"
            ) from error
        except CancelledError as error:
            raise ValueError(
                f"the Dask cluster gave up a task ({one_line(error)}); encode again when it is back: what was written "
                "is kept"
            ) from error

    def _require_workers(self) -> None:
        """Raises unless there is a cluster with workers that have this version of graphpe."""
        here = version("graphpe")
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
            found = self.client.run(own_version)
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"the Dask cluster has no workers ({one_line(error)}); start some, and encode again"
            ) from error
        others = set(found.values()) - {here}
        if others:
            raise ValueError(
                f"workers of the Dask cluster have graphpe {', '.join(sorted(others))}, but this process has {here}; "
                "values could differ: install the same version everywhere"
            )


def own_version() -> str:
    """The version of graphpe that a process has."""
    return version("graphpe")
