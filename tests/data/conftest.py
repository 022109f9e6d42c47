"""Dataset folders to load and to break."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _lock_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the lock files of datasets out of the system's temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.getbasetemp()))


@pytest.fixture
def molesol(tmp_path: Path, repository: Path) -> Path:
    """A root with a fresh copy of the bundled ogbg-molesol."""
    folder = tmp_path / "ogbg_molesol"
    shutil.copytree(
        repository / "datasets" / "bundled" / "ogbg_molesol",
        folder,
        ignore=shutil.ignore_patterns("processed"),
    )
    return tmp_path


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """No network; the list collects the timeouts that were asked for."""
    timeouts: list[float | None] = []

    def refuse(url: object, data: object = None, timeout: float | None = None) -> None:
        timeouts.append(timeout)
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return timeouts


@pytest.fixture
def forbid_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise AssertionError("input() was called")

    monkeypatch.setattr("builtins.input", refuse)


def write_gzip(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Writes rows as OGB does: a compressed csv without a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def make_ogb_folder() -> Callable[..., Path]:
    """Writes a tiny dataset in OGB's layout: graph 0 is a path of 3, graph 1 one node, graph 2 a triangle."""

    def make(folder: Path, split: str = "scaffold", **replaced: list[list[object]]) -> Path:
        raw: dict[str, list[list[object]]] = {
            "edge": [[0, 1], [1, 2], [0, 1], [1, 2], [0, 2]],
            "num-node-list": [[3], [1], [3]],
            "num-edge-list": [[2], [0], [3]],
            "node-feat": [[i, 0, 0, 0, 0, 0, 0, 0, 0] for i in range(7)],
            "edge-feat": [[i % 5, 0, 0] for i in range(5)],
            "graph-label": [[0.5], [-1.5], [2.0]],
        }
        raw.update({name.replace("_", "-"): rows for name, rows in replaced.items()})
        for name, rows in raw.items():
            if rows:
                write_gzip(folder / "raw" / f"{name}.csv.gz", rows)
        for graph, part in enumerate(("train", "valid", "test")):
            write_gzip(folder / "split" / split / f"{part}.csv.gz", [[graph]])
        (folder / "RELEASE_v1.txt").write_text("v1")
        return folder

    return make
