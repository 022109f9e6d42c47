"""What all downloaded datasets of graphs have in common: nothing half-written, no code run, errors in one line."""

from __future__ import annotations

import io
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from raw_graph_folders import write_alchemy, write_gnn_benchmark, write_lrgb, write_tu

from graphpe.data import (
    AlchemySource,
    GNNBenchmarkSource,
    GraphSource,
    LRGBSource,
    TUSource,
)

Case = tuple[Callable[[Path], GraphSource], Callable[[Path], Path], str, str]

# A source, what writes its raw folder, the folder in the archive, and a raw file.
CASES: dict[str, Case] = {
    "gnn-benchmark": (
        lambda root: GNNBenchmarkSource("PATTERN", root),
        write_gnn_benchmark,
        "",
        "PATTERN_v2.pt",
    ),
    "lrgb": (
        lambda root: LRGBSource("peptides-struct", root),
        lambda root: write_lrgb(root, "peptides-struct"),
        "peptidesstruct",
        "val.pt",
    ),
    "tu": (
        lambda root: TUSource("SMALL", root, folds=3),
        lambda root: write_tu(root, "SMALL", [1, 2, 3] * 3, graph_labels=[0, 1, 1] * 3),
        "SMALL",
        "SMALL_A.txt",
    ),
    "alchemy": (
        AlchemySource,
        lambda root: write_alchemy(root, 9, ([1, 2], [3], [4])),
        "alchemy_full",
        "alchemy_full_A.txt",
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.usefixtures("offline")
def test_missing_folder_offline(case: Case, tmp_path: Path) -> None:
    source, write, *_ = case
    with pytest.raises(ValueError, match="could not be downloaded from http") as error:
        source(tmp_path / "data").load()
    raw = write(tmp_path / "other")
    folder = tmp_path / "data" / raw.relative_to(tmp_path / "other")
    assert f"into {folder} yourself" in one_line(error)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@pytest.mark.usefixtures("offline")
def test_incomplete_folder_is_an_error_and_stays(case: Case, tmp_path: Path) -> None:
    source, write, _, file = case
    raw = write(tmp_path)
    (raw / file).unlink()
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=f"not a complete copy of .*{file} missing") as error:
        source(tmp_path).load()
    assert str(raw) in one_line(error)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("offline")
def test_truncated_raw_file_is_named(case: Case, tmp_path: Path) -> None:
    source, write, _, file = case
    path = write(tmp_path) / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="is broken or truncated") as error:
        source(tmp_path).load()
    assert str(path.parent) in one_line(error)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("offline")
def test_truncated_processed_file_is_named_and_remade(case: Case, tmp_path: Path) -> None:
    source, write, *_ = case
    write(tmp_path)
    source(tmp_path).load()
    (path,) = tmp_path.rglob("*/processed/*")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="delete it, and it is made again") as error:
        source(tmp_path).load()
    assert str(path) in one_line(error)
    path.unlink()
    source(tmp_path).load()


@pytest.mark.usefixtures("offline")
def test_loading_prints_nothing_and_writes_one_file(
    case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, write, *_ = case
    write(tmp_path)
    before = set(tmp_path.rglob("*"))
    source(tmp_path).prepare()
    assert capfd.readouterr() == ("", "")
    new = [path for path in set(tmp_path.rglob("*")) - before if path.is_file()]
    assert len(new) == 1


class Code:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.mkdir, (self.folder,)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", ["gnn-benchmark", "lrgb"])
def test_code_in_a_raw_file_is_not_run(name: str, tmp_path: Path) -> None:
    source, write, _, file = CASES[name]
    path = write(tmp_path) / file
    torch.save([Code(tmp_path / "made")], path)
    with pytest.raises(ValueError, match="is broken or truncated") as error:
        source(tmp_path).load()
    assert str(path) in one_line(error)
    assert not (tmp_path / "made").exists()


def test_download(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, write, folder, _ = case
    raw = write(tmp_path / "made")
    packed = tmp_path / "packed" / folder
    shutil.copytree(raw, packed, dirs_exist_ok=True)
    archive = Path(shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "packed"))
    asked = []

    def serve(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        is_list = url.endswith(".index")
        path = raw / url.rsplit("/")[-1] if is_list else archive
        response = io.BytesIO(path.read_bytes())
        response.headers = {}  # no Content-Length
        return response

    monkeypatch.setattr(urllib.request, "urlopen", serve)
    graphs, _ = source(tmp_path / "data").load()
    wanted, _ = source(tmp_path / "made").load()
    assert len(graphs) == len(wanted)
    assert len(asked) == (4 if folder == "alchemy_full" else 1)
    downloaded = (tmp_path / "data" / raw.relative_to(tmp_path / "made")).iterdir()
    assert {path.name for path in downloaded} == {path.name for path in raw.iterdir()}
    assert not list(tmp_path.rglob("*.partial"))
