"""Work that is divided among processes, with the results in order and few of them waiting."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Pieces of work that wait for each process.
_AHEAD = 3


def in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int, what: str
) -> Iterator[Result]:
    """``map(function, items)`` in several processes, which takes items only as fast as the results are used.

    Args:
        function: A function of a module.
        items: What to give to it.
        workers: Number of processes; 1 calls it in this process.
        what: What the processes do, for errors.

    Raises:
        ValueError: If a process ended early.
    """
    if workers == 1:
        yield from map(function, items)
        return
    # Started afresh, since a fork of a process with threads may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _end_with_parent) as pool:
        running: deque[Future[Result]] = deque()
        try:
            for item in items:
                running.append(pool.submit(function, item))
                if len(running) >= _AHEAD * workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except BrokenProcessPool as error:
            raise ValueError(
                f"a process that {what} ended early; if memory ran out, use fewer workers than {workers}; a script's "
                'own code must be under `if __name__ == "__main__":`, and a notebook\'s classes in a module; workers=1 '
                "needs none of this"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end_with_parent() -> None:
    """Ends this process with its parent; otherwise it would wait for work forever when that is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_join, args=(parent,), daemon=True).start()


def _join(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
