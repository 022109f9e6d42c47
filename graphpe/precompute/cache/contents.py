"""What the folder of a cache holds, whatever the datasets: from the names of files, manifests and receipts only.

Nothing is written, and links within the cache are not followed.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphpe import files
from graphpe.precompute.cache.manifest import NAME, Manifest
from graphpe.precompute.cache.shard_files import Receipt, fault, read_receipt

_DATASET = re.compile(r"[0-9a-f]{32}")
_ENTRY = re.compile(r"(?P<encoding>[^\W\d]\w*)-(?P<key>[0-9a-f]{24})")
_SHARD = re.compile(r"[0-9]{9,}\.safetensors")
_RECEIPT = re.compile(r"[0-9]{9,}\.json")
_LOCK = re.compile(r"\.lock(-[0-9]+-of-[0-9]+|-of-manifests)?")
# The folder in which `graphpe.files.workspace` makes a shard or a manifest.
_WORKSPACE = re.compile(
    rf"\.({_SHARD.pattern}|{re.escape(NAME)})\.(?P<machine>.*)-(?P<process>[0-9]+)-[0-9]+\.partial"
)


@dataclass(frozen=True)
class Workspace:
    """A folder in which a process makes a file, or made it until it was killed.

    Args:
        path: The folder.
        bytes: Size of the files in it.
        process: ``"running"`` or ``"gone"``; ``"elsewhere"`` if it was started on another machine, where it may still
            run.
    """

    path: Path
    bytes: int
    process: Literal["running", "gone", "elsewhere"]


@dataclass(frozen=True)
class StoredEntry:
    """An entry as it is on disk.

    Args:
        folder: Its folder.
        manifest: What its manifest says; None if there is none, or it can't be read.
        damage: Why the manifest can't be read; None if nothing is wrong with it.
        receipts: What each shard must be, in the order of the graphs: of an entry without a manifest, those that were
            written so far.
        files: Its shards, receipts and manifest.
        workspaces: Where processes make its files.
        foreign: What is in the folder and not of the cache.
        bytes: Size of ``files``.
        written: When the last of them was written, in seconds since 1970.
    """

    folder: Path
    manifest: Manifest | None
    damage: str | None
    receipts: tuple[Receipt, ...]
    files: tuple[Path, ...]
    workspaces: tuple[Workspace, ...]
    foreign: tuple[Path, ...]
    bytes: int
    written: float

    @classmethod
    def read(cls, folder: Path) -> StoredEntry:
        """What is in the folder of an entry.

        Raises:
            ValueError: If the folder can't be read.
        """
        own, workspaces, foreign = [], [], []
        for item in _items(folder):
            path, is_folder = Path(item.path), item.is_dir(follow_symlinks=False)
            workspace = _WORKSPACE.fullmatch(item.name)
            if is_folder and workspace:
                process = _process(workspace["machine"], workspace["process"])
                workspaces.append(Workspace(path, _size_and_time(path.rglob("*"))[0], process))
            elif not is_folder and _is_of_entry(item.name):
                own.append(path)
            else:
                foreign.append(path)
        size, written = _size_and_time(own or [folder])
        # In this order: receipts go when the manifest is there.
        receipts = {path.stem: read_receipt(path) for path in own if _RECEIPT.fullmatch(path.name)}
        manifest, damage = _manifest(folder)
        named = {} if manifest is None else {Path(each.file).stem: each for each in manifest.shards}
        # A receipt is of a shard that was made again after the manifest was written.
        named |= {stem: receipt for stem, receipt in receipts.items() if receipt is not None}
        ordered = sorted(named.values(), key=lambda receipt: receipt.start)
        return cls(
            folder,
            manifest,
            damage,
            tuple(ordered),
            tuple(own),
            tuple(workspaces),
            tuple(foreign),
            size if own else 0,
            written,
        )

    @property
    def encoding_class(self) -> str:
        """Name of the class of the encoding."""
        return self.folder.name.rpartition("-")[0]

    @property
    def key(self) -> str:
        """The key of the graphs and the settings."""
        return self.folder.name.rpartition("-")[2]

    @property
    def state(self) -> Literal["complete", "incomplete", "damaged manifest"]:
        """Whether there is a manifest, which is written last."""
        if self.damage is not None:
            return "damaged manifest"
        return "incomplete" if self.manifest is None else "complete"

    @property
    def leftovers(self) -> tuple[Workspace, ...]:
        """Workspaces in which no process of this machine is at work."""
        return tuple(each for each in self.workspaces if each.process != "running")

    @property
    def num_failed(self) -> int:
        """Number of graphs that have no values."""
        return sum(len(receipt.failed) for receipt in self.receipts)

    def faults(self, content: bool) -> Iterator[tuple[Receipt, str | None]]:
        """Each shard, and what is wrong with it; None if nothing is.

        Args:
            content: Whether to read the shards for their checksums, and not to look at their sizes only.
        """
        for receipt in self.receipts:
            yield receipt, fault(self.folder, receipt, content)


@dataclass(frozen=True)
class StoredDataset:
    """What the cache holds of one dataset.

    Args:
        folder: Its folder.
        entries: The entries, by name.
        locks: Files that processes lock while they write.
        foreign: What is in the folder and not of the cache.
    """

    folder: Path
    entries: tuple[StoredEntry, ...]
    locks: tuple[Path, ...]
    foreign: tuple[Path, ...]

    @classmethod
    def read(cls, folder: Path) -> StoredDataset:
        """What is in the folder of a dataset.

        Raises:
            ValueError: If a folder can't be read.
        """
        entries, locks, foreign = [], [], []
        for item in _items(folder):
            path, is_folder = Path(item.path), item.is_dir(follow_symlinks=False)
            if is_folder and _ENTRY.fullmatch(item.name):
                entry = StoredEntry.read(path)
                if entry.foreign and not (entry.files or entry.workspaces):
                    foreign += entry.foreign
                else:
                    entries.append(entry)
            elif not is_folder and _LOCK.fullmatch(item.name):
                locks.append(path)
            else:
                foreign.append(path)
        return cls(folder, tuple(entries), tuple(locks), tuple(foreign))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the graphs."""
        return self.folder.name

    @property
    def num_graphs(self) -> int | None:
        """The number of graphs; None where no entry has a manifest that says it."""
        known = [each.manifest.num_graphs for each in self.entries if each.manifest is not None]
        return max(known, default=None)

    @property
    def num_graphs_seen(self) -> int:
        """The number of graphs up to the last one that has a shard."""
        return max(
            (receipt.stop for entry in self.entries for receipt in entry.receipts), default=0
        )


@dataclass(frozen=True)
class Contents:
    """What a cache holds.

    Args:
        folder: Its folder.
        datasets: The datasets, by fingerprint.
        foreign: What is in the folder and not of the cache.
    """

    folder: Path
    datasets: tuple[StoredDataset, ...]
    foreign: tuple[Path, ...]

    @classmethod
    def read(cls, folder: Path) -> Contents:
        """What is in the folder of a cache.

        Raises:
            ValueError: If there is no such folder, it can't be read, or it is neither empty nor a cache.
        """
        remedy = "give the folder that `encode` got as cache_dir"
        if not folder.is_dir():
            problem = "is not a folder" if folder.exists() else "does not exist"
            raise ValueError(f"{folder} {problem}; {remedy}")
        datasets, foreign = [], []
        for item in _items(folder):
            path = Path(item.path)
            if item.is_dir(follow_symlinks=False) and _DATASET.fullmatch(item.name):
                datasets.append(StoredDataset.read(path))
            else:
                foreign.append(path)
        if foreign and not datasets:
            raise ValueError(f"{folder} is not a cache of encodings; {remedy}")
        return cls(folder, tuple(datasets), tuple(foreign))

    @property
    def entries(self) -> tuple[StoredEntry, ...]:
        """The entries of all datasets."""
        return tuple(entry for dataset in self.datasets for entry in dataset.entries)


def _items(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing if another process has removed it."""
    try:
        with os.scandir(folder) as items:
            return sorted(items, key=lambda item: item.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ValueError(
            f"cannot read {folder} ({error.strerror or files.one_line(error)}); ask its owner for the right to"
        ) from error


def _is_of_entry(name: str) -> bool:
    return name == NAME or bool(_SHARD.fullmatch(name) or _RECEIPT.fullmatch(name))


def _size_and_time(paths: Iterator[Path] | list[Path]) -> tuple[int, float]:
    """The size of files in bytes, and when the last was written; without those that are gone meanwhile."""
    size, written = 0, 0.0
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            continue
        size += status.st_size
        written = max(written, status.st_mtime)
    return size, written


def _process(machine: str, number: str) -> Literal["running", "gone", "elsewhere"]:
    if machine != platform.node():
        return "elsewhere"
    return "running" if files.is_running(number) else "gone"


def _manifest(folder: Path) -> tuple[Manifest | None, str | None]:
    """The manifest of an entry, or why it can't be read."""
    if not os.path.lexists(folder / NAME):
        return None, None
    try:
        return Manifest.load(folder), None
    except ValueError as error:
        return None, str(error)
