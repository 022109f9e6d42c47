"""ZINC: the same graphs as PyG's class, as one dataset with a split."""

from __future__ import annotations

import io
import pickle
import shutil
import urllib.request
from pathlib import Path

import pytest
import torch
from torch_geometric import datasets

from graphpe.data import ZINC

pytestmark = pytest.mark.usefixtures("offline")


def molecule(n: int, y: float) -> dict:
    """A path of n atoms with double bonds."""
    bonds = torch.zeros(n, n, dtype=torch.uint8)
    for i in range(n - 1):
        bonds[i, i + 1] = bonds[i + 1, i] = 2
    return {
        "num_atom": n,
        "atom_type": torch.arange(n, dtype=torch.uint8),
        "bond_type": bonds,
        "logP_SA_cycle_normalized": torch.tensor([y]),
    }


def write_raw(raw: Path) -> None:
    raw.mkdir(parents=True)
    for part, sizes in {"train": (4, 1, 3, 2), "val": (5, 2), "test": (1, 6)}.items():
        molecules = [molecule(n, float(n)) for n in sizes]
        (raw / f"{part}.pickle").write_bytes(pickle.dumps(molecules))
        (raw / f"{part}.index").write_text("0,2\n" if part == "train" else "1\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_raw(tmp_path / "raw")
    return tmp_path


def test_subset_and_full(root: Path) -> None:
    for _ in range(2):  # processed, then loaded
        subset = ZINC(root)
        assert [graph.num_nodes for graph in subset] == [4, 3, 2, 6]
        split = {part: index.tolist() for part, index in subset.get_idx_split().items()}
        assert split == {"train": [0, 1], "valid": [2], "test": [3]}
    full = ZINC(root, subset=False)
    assert [graph.num_nodes for graph in full] == [4, 1, 3, 2, 5, 2, 1, 6]
    assert [len(index) for index in full.get_idx_split().values()] == [4, 2, 2]
    assert full.get_idx_split()["valid"].dtype == torch.long


@pytest.mark.parametrize("subset", [True, False])
def test_graphs_are_those_of_pyg(root: Path, subset: bool) -> None:
    assert_same_as_pyg(root, subset)


def test_real_graphs_are_those_of_pyg(shared_data: Path, tmp_path: Path) -> None:
    if not (shared_data / "zinc" / "raw").is_dir():
        pytest.skip(f"ZINC is not in {shared_data}")
    shutil.copytree(shared_data / "zinc" / "raw", tmp_path / "raw", copy_function=shutil.copyfile)
    # A small train part, for speed; the real one is in test_cards.py.
    (tmp_path / "raw" / "train.index").write_text(",".join(map(str, range(0, 10000, 100))) + "\n")
    assert_same_as_pyg(tmp_path, subset=True)


def assert_same_as_pyg(root: Path, subset: bool) -> None:
    ours = ZINC(root, subset)
    split = ours.get_idx_split()
    for part, their_name in (("train", "train"), ("valid", "val"), ("test", "test")):
        theirs = datasets.ZINC(str(root), subset=subset, split=their_name)
        assert len(theirs) == len(split[part])
        for graph, their_graph in zip(ours[split[part]], theirs, strict=True):
            assert graph.keys() == their_graph.keys()
            for key in graph.keys():  # noqa: SIM118 - of a Data
                assert torch.equal(graph[key], their_graph[key])
                assert graph[key].dtype == their_graph[key].dtype


def test_loading_prints_nothing_and_writes_one_file(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = set(root.rglob("*"))
    ZINC(root)
    assert capfd.readouterr() == ("", "")
    new = {str(path.relative_to(root)) for path in set(root.rglob("*")) - before}
    assert new == {"subset", "subset/processed", "subset/processed/graphpe.pt"}


def test_missing_folder_offline(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ZINC could not be downloaded") as error:
        ZINC(tmp_path / "zinc")
    assert f"into {tmp_path / 'zinc' / 'raw'} yourself" in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_incomplete_folder_is_an_error_and_stays(root: Path) -> None:
    (root / "raw" / "val.index").unlink()
    before = set(root.rglob("*"))
    with pytest.raises(ValueError, match=r"val\.index missing; delete the folder"):
        ZINC(root)
    assert set(root.rglob("*")) == before
    assert len(ZINC(root, subset=False)) == 8  # which does not need it


@pytest.mark.parametrize("name", ["train.pickle", "test.pickle", "val.index"])
def test_truncated_raw_file_is_named(root: Path, name: str) -> None:
    path = root / "raw" / name
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="is broken or truncated") as error:
        ZINC(root)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert not (root / "subset").exists()


def test_raw_file_with_other_content_is_named(root: Path) -> None:
    path = root / "raw" / "train.pickle"
    path.write_bytes(pickle.dumps([{"num_atom": 3}] * 3))
    with pytest.raises(ValueError, match=r"train.* is broken or truncated"):
        ZINC(root)


def test_truncated_processed_file_is_named_and_remade(root: Path) -> None:
    ZINC(root)
    path = root / "subset" / "processed" / "graphpe.pt"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="delete it") as error:
        ZINC(root)
    assert str(path) in str(error.value)
    path.unlink()
    assert len(ZINC(root)) == 4


def test_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_raw(tmp_path / "made" / "molecules")
    archive = Path(shutil.make_archive(str(tmp_path / "made"), "zip", tmp_path / "made"))
    index = {
        part: (tmp_path / "made" / "molecules" / f"{part}.index")
        for part in ("train", "val", "test")
    }
    asked = []

    def serve(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        path = archive if len(asked) == 1 else index[url.rsplit("/")[-1].removesuffix(".index")]
        response = io.BytesIO(path.read_bytes())
        response.headers = {}  # no Content-Length
        return response

    monkeypatch.setattr(urllib.request, "urlopen", serve)
    root = tmp_path / "zinc"
    assert len(ZINC(root)) == 4
    assert len(asked) == 4
    assert sorted(path.name for path in root.iterdir()) == ["raw", "subset"]
    assert "download.zip" not in [path.name for path in (root / "raw").iterdir()]
