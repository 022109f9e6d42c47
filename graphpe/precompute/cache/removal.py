"""Removes entries of a cache, and nothing that isn't of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from graphpe import files
from graphpe.precompute.cache.contents import StoredDataset, StoredEntry
from graphpe.precompute.cache.manifest import NAME

_LOCK = ".lock"


class Removed(NamedTuple):
    """What was removed.

    Args:
        entries: Number of entries.
        workspaces: Number of workspaces that killed processes left in entries that stay.
        bytes: Size of it all.
        foreign: What stays in folders that were to go, since it isn't of the cache.
        busy: Workspaces that stay since a process of this machine is at work there.
    """

    entries: int
    workspaces: int
    bytes: int
    foreign: tuple[Path, ...]
    busy: tuple[Path, ...]


def remove(folder: Path, goes: Callable[[StoredEntry], bool], leftovers: bool = False) -> Removed:
    """Removes entries of a dataset, and with the last of them its folder.

    Waits for processes that write to the dataset, and looks then at what is there. A kill in the middle leaves entries
    without a manifest.

    Args:
        folder: The folder of the dataset.
        goes: Whether an entry goes.
        leftovers: Whether workspaces that killed processes left go from the other entries, too.

    Raises:
        ValueError: If something can't be removed.
    """
    with _alone(folder):
        dataset = StoredDataset.read(folder)
        going = [entry for entry in dataset.entries if goes(entry)]
        staying = [entry for entry in dataset.entries if leftovers and not goes(entry)]
        try:
            for entry in going:
                _remove_entry(entry)
            for entry in staying:
                _remove_leftovers(entry)
        except OSError as error:
            reason = error.strerror or files.one_line(error)
            raise ValueError(
                f"cannot remove {error.filename or folder} ({reason}); ask its owner for the right to"
            ) from error
        foreign = [path for entry in going for path in entry.foreign]
        after = StoredDataset.read(folder)
        if not after.entries:
            foreign += dataset.foreign
            _remove_dataset(after)
    left = [each for entry in (*going, *staying) for each in entry.leftovers]
    return Removed(
        len(going),
        sum(len(entry.leftovers) for entry in staying),
        sum(entry.bytes for entry in going) + sum(each.bytes for each in left),
        tuple(foreign),
        tuple(
            each.path
            for entry in (*going, *staying)
            for each in entry.workspaces
            if each.process == "running"
        ),
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits until no other process writes to a dataset: `encode` has one lock, and each of its shares another."""
    with ExitStack() as held:
        held.enter_context(files.exclusive(folder, _LOCK))
        # Whoever removes has the lock above, and others never want a second one, so none waits in a circle.
        names: set[str] = set()
        while lacking := {lock.name for lock in StoredDataset.read(folder).locks} - {_LOCK, *names}:
            for name in sorted(lacking):
                held.enter_context(files.exclusive(folder, name))
            names |= lacking
        yield


def _remove_entry(entry: StoredEntry) -> None:
    """Removes the manifest first, and what says that a shard is whole before the shard."""
    for path in sorted(entry.files, key=lambda path: (path.name != NAME, path.suffix != ".json")):
        path.unlink(missing_ok=True)
        if path.name == NAME:
            files.flush(entry.folder)
    _remove_leftovers(entry)
    with suppress(OSError):  # not empty
        entry.folder.rmdir()


def _remove_leftovers(entry: StoredEntry) -> None:
    """Also those of other machines, whose processes would have the lock if they still ran."""
    for each in entry.leftovers:
        with suppress(FileNotFoundError):
            shutil.rmtree(each.path)


def _remove_dataset(dataset: StoredDataset) -> None:
    """Removes the locks, the one that all want last, and the folder unless something is in it."""
    with suppress(OSError):  # not empty, or a system that keeps files that are open
        for lock in sorted(dataset.locks, key=lambda lock: lock.name == _LOCK):
            lock.unlink(missing_ok=True)
        dataset.folder.rmdir()
