"""Work that is divided among processes, with the results in order and few of them waiting."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pickle import PicklingError
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

# Pieces of work that wait for each process.
_AHEAD = 3

# Environment of the processes.
_ENVIRONMENT = {
    # More threads than there are cores would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    # Otherwise loky takes a process that has grown by 300 MB for one that leaks, and starts it anew.
    "LOKY_MAX_MEMORY_LEAK_SIZE": str(1 << 62),
}


def in_processes(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int, what: str
) -> Iterator[Result]:
    """``map(function, items)`` in several processes, which takes items only as fast as the results are used.

    Args:
        function: The function; it may be of a script or a notebook.
        items: What to give to it.
        workers: Number of processes; 1 calls it in this process.
        what: What the processes do, for errors.

    Raises:
        ValueError: If a process ended early, or the function or an item can't be sent to one.
    """
    if workers == 1:
        yield from map(function, items)
        return
    running: deque[Future[Result]] = deque()
    with process_pool(workers, what, f"use fewer workers than {workers}") as pool:
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) >= _AHEAD * workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


@contextmanager
def process_pool(workers: int, what: str, remedy: str) -> Iterator[Executor]:
    """Processes that compute on one thread each, and that are gone when the context is left, or when this process is.

    They start afresh, since a fork of a process with threads may hang. Functions and classes of a script or a notebook
    are sent to them, which doesn't run the script again. If the context is left by an error or Ctrl-C they are killed.

    Args:
        workers: Number of processes.
        what: What they do, for errors.
        remedy: What to do if memory ran out, for errors.

    Raises:
        ValueError: If a process ended early, or work can't be sent to one.
    """
    # Imported here: it is not needed to import graphpe.
    from loky import BrokenProcessPool, ProcessPoolExecutor
    from loky.process_executor import TerminatedWorkerError

    # Nothing is sent, but processes notice when the end that is here is closed, also by a kill.
    parent, own_end = Pipe(duplex=False)
    script = getattr(sys.modules["__main__"], "__file__", None)
    pool = ProcessPoolExecutor(
        workers, initializer=_begin, initargs=(parent, script), env=_ENVIRONMENT
    )
    is_done = False
    try:
        yield pool
        is_done = True
    except TerminatedWorkerError as error:
        raise ValueError(
            f"a process that {what} ended early; if memory ran out, {remedy}"
        ) from error
    except (BrokenProcessPool, PicklingError) as error:
        raise ValueError(
            f"work can't be sent to a process that {what} ({_reason(error)}); it must consist of values that can be "
            "pickled, and of classes that are in a script or in a module that can be imported"
        ) from error
    finally:
        pool.shutdown(kill_workers=not is_done)
        own_end.close()
        parent.close()


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin(parent: Connection, script: str | None) -> None:
    """Prepares a process: one thread, the name of the parent's script, and an end with the parent."""
    # Ctrl-C reaches the parent too, which kills this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    sys.modules["__main__"].__file__ = script
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    """Ends this process with its parent; otherwise it would wait for work forever when that is killed."""
    wait([parent])
    os._exit(1)


def _reason(error: BaseException) -> str:
    """The last line of what a process, or the thread that talks to it, said about an error."""
    said = str(error.__cause__ or error).strip('"\n ')
    return said.splitlines()[-1].strip()
