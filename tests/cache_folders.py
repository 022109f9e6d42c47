"""A small cache on disk, and what processes that are killed leave in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from graph_zoo import zoo

import graphpe
from graphpe.precompute.cache import json_files, plan
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

GRAPHS = list(zoo().values())
ENCODINGS = [AddLaplacianEigenvectorPE(4), AddRandomWalkPE(6)]
GRAPHS_IN_SHARD = 5


def fill_cache(folder: Path) -> None:
    """Makes an entry of a few shards for each of the encodings."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan, "_GRAPHS", GRAPHS_IN_SHARD)
        graphpe.encode(GRAPHS, ENCODINGS, cache_dir=folder)


def unfinish(entry: Path) -> None:
    """Turns an entry into what it was before its manifest was written."""
    manifest = entry / "manifest.json"
    for shard in json_files.of_text(manifest.read_text())["shards"]:
        (entry / shard["file"]).with_suffix(".json").write_text(json_files.as_text(shard))
    manifest.unlink()


def changed(path: Path, changes: dict[str, Any]) -> bytes:
    """A manifest or a receipt that says something else, with a checksum that fits.

    Args:
        path: The file, which stays as it is.
        changes: What it says, or a function of what it said.
    """
    content = json_files.of_text(path.read_text())
    for name, change in changes.items():
        content[name] = change(content[name]) if callable(change) else change
    return json_files.as_text(content).encode()


def make_workspace(entry: Path, process: str, name: str = "000000000.safetensors") -> Path:
    """Makes a folder such as `graphpe.files.workspace` does, with 100 bytes in it.

    Args:
        entry: The folder of an entry.
        process: Machine and number of the process, with a hyphen between them.
        name: The file that the process is making.
    """
    path = entry / f".{name}.{process}-77.partial"
    path.mkdir()
    (path / name).write_bytes(bytes(100))
    return path


def snapshot(folder: Path) -> dict[Path, tuple[int, bytes | None]]:
    """When each file was written, and what it holds."""
    return {
        path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }
