"""A power cut takes what no one has flushed: contents of files, and names in folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from cache_writers import GRAPHS_IN_SHARD, Writer, leftovers, whole
from encoded_folders import contents
from file_operations import at_each_file_operation

from graphpe import files
from graphpe.precompute.cache import entry
from graphpe.transforms import AddRandomWalkPE


class Disk:
    """What is on the disk of what is in a folder.

    Args:
        folder: The folder.
        names_first: Whether names get there at once, and not only when their folder is flushed. Contents get there
            when they are flushed.
    """

    def __init__(self, folder: Path, names_first: bool) -> None:
        self.folder = folder
        self._names_first = names_first
        self._contents: dict[tuple[int, int], bytes] = {}
        self._names: dict[Path, dict[str, tuple[int, int]]] = {}

    def flush(self, path: Path) -> None:
        """Puts a file or the names in a folder there."""
        if path.is_dir():
            self._names[path] = self._names_in(path)
        else:
            self._contents[_file(path)] = path.read_bytes()

    def after_a_cut(self) -> dict[Path, bytes]:
        """The files that would be there after a power cut; those that weren't flushed are empty."""
        found = {}
        for parent in (self.folder, *(path for path in self.folder.rglob("*") if path.is_dir())):
            names = self._names_in(parent)
            if not self._names_first:  # but removed names are gone
                kept = self._names.get(parent, {})
                names = {name: kept[name] for name in kept if name in names}
            for name, file in names.items():
                found[(parent / name).relative_to(self.folder)] = self._contents.get(file, b"")
        return found

    def _names_in(self, folder: Path) -> dict[str, tuple[int, int]]:
        return {path.name: _file(path) for path in folder.iterdir() if path.is_file()}


def _file(path: Path) -> tuple[int, int]:
    """What stands for a file, whatever it is called."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


@pytest.mark.parametrize("names_first", [True, False], ids=["names first", "contents first"])
def test_a_power_cut_at_each_file_operation(tmp_path: Path, monkeypatch, names_first: bool) -> None:
    """No shard that was said to be written is lost, nor all of them when the manifest is there."""
    writer = {"graphs": 2 * GRAPHS_IN_SHARD, "encodings": (AddRandomWalkPE(4),)}
    disk, written = Disk(tmp_path / "cache", names_first), []
    disk.folder.mkdir()
    real_flush, real_write = files.flush, entry.write

    def flush(path: Path) -> None:
        real_flush(path)
        disk.flush(path)

    def write(*arguments) -> None:
        real_write(*arguments)
        written.append(1)

    cuts: list[tuple[int, dict[Path, bytes]]] = []
    with monkeypatch.context() as patched:
        patched.setattr(files, "flush", flush)
        patched.setattr(entry, "write", write)
        with at_each_file_operation(lambda _: cuts.append((len(written), disk.after_a_cut()))):
            Writer(disk.folder, **writer)()
    cuts.append((2, disk.after_a_cut()))
    wanted, different = contents(disk.folder), set()
    for number, (count, found) in enumerate(cuts):
        if frozenset(found.items()) in different:
            continue
        different.add(frozenset(found.items()))
        folder = tmp_path / str(number)
        for path, content in found.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        assert len(whole(folder)) >= count
        Writer(folder, **writer)()
        assert contents(folder) == wanted
        assert leftovers(folder) == []
    assert len(different) >= 5
