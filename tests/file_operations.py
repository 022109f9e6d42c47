"""The calls by which a cache is written, to do something at one of them: kill, fail, wait."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from graphpe.precompute.cache import shard_files

# What needs room on the disk, or the disk itself.
WRITING = ("mkdir", "save_file", "write_text", "fsync", "replace")
_REMOVING = ("unlink", "rmdir")


@contextmanager
def at_each_file_operation(
    do: Callable[[int], object], names: tuple[str, ...] = WRITING + _REMOVING
) -> Iterator[None]:
    """Calls a function before each call that writes, flushes, renames or removes a file.

    Args:
        do: The function, which gets the number of the call, from 1.
        names: The calls that count.
    """
    numbers = count(1)
    with pytest.MonkeyPatch.context() as patched:
        for name in names:
            place = {"save_file": shard_files, "write_text": Path}.get(name, os)
            patched.setattr(place, name, _after(do, numbers, getattr(place, name)))
        yield


def _after(do: Callable[[int], object], numbers: Iterator[int], call: Callable) -> Callable:
    def both(*arguments, **named):
        do(next(numbers))
        return call(*arguments, **named)

    return both


def operations_of(
    function: Callable[[], object], names: tuple[str, ...] = WRITING + _REMOVING
) -> int:
    """How many of these calls a function makes."""
    seen: list[int] = []
    with at_each_file_operation(seen.append, names):
        function()
    return len(seen)


def killer(number: int) -> Callable[[int], None]:
    """Kills this process at the call of a number."""

    def kill(current: int) -> None:
        if current == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return kill
