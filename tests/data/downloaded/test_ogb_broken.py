"""OGBGraphs where something is missing, broken, killed, or done twice at once."""

from __future__ import annotations

import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphpe import files
from graphpe.data import OGBGraphs

pytestmark = pytest.mark.usefixtures("offline", "forbid_input")

MakeFolder = Callable[..., Path]


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


# --- broken folders -------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["RELEASE_v1.txt", "raw/graph-label.csv.gz", "raw/edge.csv.gz"])
def test_incomplete_folder_is_an_error_and_stays(molesol: Path, missing: str) -> None:
    """ogb#504, ogb#106: OGB asks a question here, or deletes the folder."""
    folder = molesol / "ogbg_molesol"
    (folder / missing).unlink()
    before = set(molesol.rglob("*"))
    with pytest.raises(ValueError, match="is not a complete copy") as error:
        OGBGraphs("ogbg-molesol", molesol)
    assert f"{missing} is missing" in one_line(error)
    assert "delete the folder" in one_line(error)
    assert set(molesol.rglob("*")) == before


@pytest.mark.parametrize("name", ["edge", "node-feat", "graph-label", "num-edge-list"])
def test_truncated_raw_file_is_named(molesol: Path, name: str) -> None:
    path = molesol / "ogbg_molesol" / "raw" / f"{name}.csv.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is broken or truncated") as error:
        OGBGraphs("ogbg-molesol", molesol)
    assert str(path) in one_line(error)
    assert not (molesol / "ogbg_molesol" / "processed").exists()


@pytest.mark.parametrize("keep", [0, 100, -200])
def test_truncated_processed_file_is_named_and_remade(molesol: Path, keep: int) -> None:
    OGBGraphs("ogbg-molesol", molesol)
    path = molesol / "ogbg_molesol" / "processed" / "graphpe.pt"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"broken or truncated.*delete it") as error:
        OGBGraphs("ogbg-molesol", molesol)
    assert str(path) in one_line(error)
    path.unlink()
    assert len(OGBGraphs("ogbg-molesol", molesol)) == 1128


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"graph_label": [[0.5], [1.0]]}, "3 graphs but 2 labels"),
        ({"node_feat": [[0] * 9] * 5}, "graph 2 has 1 rows in node-feat.csv.gz but needs 3"),
        ({"edge_feat": [[0] * 3] * 4}, "graph 2 has 4 rows in edge-feat.csv.gz but needs 6"),
        ({"edge": [[0, 1], [1, 2], [0, 3], [1, 2], [0, 2]]}, "graph 2 has the edge"),
        ({"num_node_list": [[3]], "num_edge_list": [[2]]}, "hold 1 graphs"),
        ({"num_node_list": [["three"], [1], [3]]}, "broken or truncated"),
    ],
)
def test_raw_files_that_do_not_fit_together(
    tmp_path: Path, make_ogb_folder: MakeFolder, replaced: dict, message: str
) -> None:
    make_ogb_folder(tmp_path / "ogbg_molesol", **replaced)
    with pytest.raises(ValueError, match=message) as error:
        OGBGraphs("ogbg-molesol", tmp_path)
    assert "ogbg-molesol" in one_line(error)
    assert not (tmp_path / "ogbg_molesol" / "processed").exists()


def test_read_only_folder_says_to_copy_it(molesol: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = Path.mkdir

    def refuse(path: Path, *args: object, **options: object) -> None:
        if molesol in path.parents:
            raise PermissionError(13, "Permission denied")
        mkdir(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(
        ValueError, match="copy the dataset to a folder where you may write"
    ) as error:
        OGBGraphs("ogbg-molesol", molesol)
    assert "Permission denied" in one_line(error)


def test_full_disk_leaves_no_processed_file(molesol: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_up(content: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("PytorchStreamWriter failed writing file")

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", fill_up)
        with pytest.raises(ValueError, match="is there enough space"):
            OGBGraphs("ogbg-molesol", molesol)
    assert not (molesol / "ogbg_molesol" / "processed").exists()
    assert len(OGBGraphs("ogbg-molesol", molesol)) == 1128


# --- download -------------------------------------------------------------------------------------


def test_missing_folder_offline(tmp_path: Path, offline: list[float | None]) -> None:
    root = tmp_path / "not" / "there"
    with pytest.raises(ValueError, match="could not be downloaded") as error:
        OGBGraphs("ogbg-molhiv", root)
    message = one_line(error)
    assert "Name or service not known" in message
    assert f"put the unpacked dataset into {root / 'ogbg_molhiv'} yourself" in message
    assert offline == [10]  # seconds until an unreachable server is given up
    assert list(tmp_path.iterdir()) == []


class Response(io.BytesIO):
    """What urlopen returns."""

    def __init__(self, content: bytes, size: int | None = None) -> None:
        super().__init__(content)
        self.headers = {"Content-Length": str(len(content) if size is None else size)}


@pytest.fixture
def archive(tmp_path: Path, make_ogb_folder: MakeFolder) -> bytes:
    """The zip archive of a tiny ogbg-molesol as OGB serves it."""
    make_ogb_folder(tmp_path / "made" / "esol")
    path = shutil.make_archive(str(tmp_path / "esol"), "zip", tmp_path / "made", "esol")
    content = Path(path).read_bytes()
    shutil.rmtree(tmp_path / "made")
    Path(path).unlink()
    return content


def test_download(tmp_path: Path, archive: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def serve(url: str, timeout: float) -> Response:
        asked.append(url)
        return Response(archive)

    monkeypatch.setattr(urllib.request, "urlopen", serve)
    for _ in range(2):
        assert len(OGBGraphs("ogbg-molesol", tmp_path / "data")) == 3
    assert asked == ["http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/esol.zip"]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["ogbg_molesol"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: Response(content[:500], len(content)), "broke off after 500 of"),
        # ogb#504, ogb#106: above 1 GB, OGB asks whether to go on.
        (lambda content: Response(content, 3 << 30), "broke off after .* of 3,221,225,472 bytes"),
        (lambda content: Response(content[:500]), "not a complete zip archive"),
        (lambda content: Response(b"<html>moved</html>"), "not a complete zip archive"),
        (
            lambda content: Response(content[:200] + b"\0" * 40 + content[240:]),
            "not a complete zip archive",
        ),
    ],
)
def test_broken_download_leaves_nothing(
    tmp_path: Path,
    archive: bytes,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[bytes], Response],
    message: str,
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: damage(archive))
    with pytest.raises(ValueError, match=message) as error:
        OGBGraphs("ogbg-molesol", tmp_path)
    assert "try again" in one_line(error)
    assert list(tmp_path.iterdir()) == []


def test_connection_lost_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(Response):
        def read(self, size: int | None = -1) -> bytes:
            raise TimeoutError("timed out")

    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: Lost(b"..."))
    with pytest.raises(ValueError, match=r"could not be downloaded from .* \(timed out\)"):
        OGBGraphs("ogbg-molesol", tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- processes ------------------------------------------------------------------------------------


class SlowGraphs(OGBGraphs):
    """Takes its time to process, and notes that it did."""

    def process(self) -> None:
        with (Path(self.root).parent / "notes").open("a") as notes:
            notes.write("processed\n")
        time.sleep(0.5)
        super().process()


def load_and_count(root: Path) -> None:
    graphs = SlowGraphs("ogbg-molesol", root)
    with (root / "notes").open("a") as notes:
        notes.write(f"{len(graphs)}\n")


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs quickly started processes"
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_b28_two_processes_process_once(molesol: Path) -> None:
    """B28: two ranks start on the same folder at once."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=load_and_count, args=(molesol,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert (molesol / "notes").read_text().split() == ["processed", "1128", "1128"]


def test_killed_process_leaves_nothing_wrong_and_ogb_asks_no_server(
    molesol: Path, tmp_path: Path
) -> None:
    """Killed while writing; and the import of ogb does not reach for its version check, even where it is installed."""
    stand_in = tmp_path / "modules"
    stand_in.mkdir()
    (stand_in / "outdated.py").write_text("raise SystemExit('the version check was imported')")
    code = """
import os, signal, sys, threading
import torch
from graphpe.data import OGBGraphs

assert "outdated" not in sys.modules
assert threading.active_count() == 1

def save(content, path):
    path.write_bytes(b"half a file")
    os.kill(os.getpid(), signal.SIGKILL)

torch.save = save
OGBGraphs("ogbg-molesol", sys.argv[1])
"""
    process = subprocess.run(
        [sys.executable, "-c", code, str(molesol)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(stand_in)},
    )
    assert (process.returncode, process.stdout, process.stderr) == (-9, "", "")
    processed = molesol / "ogbg_molesol" / "processed"
    assert [path.suffix for path in processed.iterdir()] == [".partial"]
    assert len(OGBGraphs("ogbg-molesol", molesol)) == 1128
    assert [path.name for path in processed.iterdir()] == ["graphpe.pt"]


def test_waiting_process_reads_what_the_other_made(molesol: Path) -> None:
    """The check after the lock: whoever waited must not process again."""
    OGBGraphs("ogbg-molesol", molesol)
    path = molesol / "ogbg_molesol" / "processed" / "graphpe.pt"
    made = path.stat().st_mtime_ns
    with files.exclusive(molesol / "ogbg_molesol"):
        OGBGraphs("ogbg-molesol", molesol)  # would wait forever if it took the lock
    assert path.stat().st_mtime_ns == made
