"""Datasets of one graph: the graphs of PyG's own classes, from raw files that are downloaded whole or not at all."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric import datasets

from graphpe.data import (
    DirectedCitationSource,
    HeterophilousSource,
    PlanetoidSource,
    WebKBSource,
    WikipediaSource,
)
from graphpe.data.downloaded.one_graph import (
    DirectedCitations,
    HeterophilousGraph,
    OneGraph,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)

pytestmark = pytest.mark.usefixtures("offline")


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


# --- tiny copies ----------------------------------------------------------------------------------


def write_planetoid(raw: Path) -> None:
    """504 papers: two to train on, 500 to validate, the last two to test, in the wrong order."""
    raw.mkdir(parents=True)
    n = 504
    x = scipy.sparse.csr_matrix(np.eye(n, 3, dtype=np.float32) + 1)
    y = np.eye(7, dtype=np.int32)[np.arange(n) % 7]
    graph = defaultdict(list, {0: [1, 1, 0], 1: [0], 3: [503], 503: [3]})
    graph.update({node: [] for node in range(n) if node not in graph})
    contents = {
        "x": x[:2],
        "y": y[:2],
        "allx": x[:502],
        "ally": y[:502],
        "tx": x[502:],
        "ty": y[502:],
        "graph": graph,
    }
    for name, content in contents.items():
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(content, protocol=2))
    (raw / "ind.cora.test.index").write_text("503\n502\n")


def write_geom_gcn(raw: Path, name: str) -> None:
    """Three pages in a row, of which one is in each part in split 0; split 9 goes the other way."""
    raw.mkdir(parents=True)
    nodes = "node_id\tfeature\tlabel\n0\t1,0\t2\n1\t1,1\t0\n2\t0,0\t1\n"
    (raw / "out1_node_feature_label.txt").write_text(nodes)
    (raw / "out1_graph_edges.txt").write_text("node_id\tnode_id\n1\t2\n0\t1\n0\t1\n2\t2\n")
    for number in range(10):
        masks = np.eye(3)[:: -1 if number == 9 else 1].astype(np.float64)
        np.savez(
            raw / f"{name}_split_0.6_0.2_{number}.npz",
            train_mask=masks[0],
            val_mask=masks[1],
            test_mask=masks[2],
        )


def write_heterophilous(raw: Path) -> None:
    raw.mkdir(parents=True)
    masks = np.tile(np.eye(4, dtype=bool), (10, 1, 1))
    np.savez(
        raw / "tolokers.npz",
        node_features=np.arange(8, dtype=np.float32).reshape(4, 2),
        node_labels=np.array([0, 1, 1, 0]),
        edges=np.array([[0, 1], [2, 1]]),
        train_masks=masks[:, 0],
        val_masks=masks[:, 1],
        test_masks=masks[:, 2] | masks[:, 3],
    )


def write_citations(raw: Path) -> None:
    """600 papers of two classes, each of which cites the next one; the first cites itself."""
    raw.mkdir(parents=True)
    n = 600
    edges = scipy.sparse.csr_matrix(np.eye(n, k=1) + np.diag([1.0] + [0.0] * (n - 1)))
    words = scipy.sparse.csr_matrix(np.ones((n, 2)))
    np.savez(
        raw / "cora_ml.npz",
        **{f"adj_{key}": getattr(edges, key) for key in ("data", "indices", "indptr", "shape")},
        **{f"attr_{key}": getattr(words, key) for key in ("data", "indices", "indptr", "shape")},
        labels=np.arange(n) % 2,
    )


def test_planetoid(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "Cora" / "raw")
    for _ in range(2):  # processed, then loaded
        graph = Planetoid(tmp_path, "Cora")[0]
        assert graph.edge_index.T.tolist() == [[1, 0], [0, 1], [503, 3], [3, 503]]
        # test.index says where the tested ones go.
        wanted = [*(node % 7 for node in range(502)), 503 % 7, 502 % 7]
        assert graph.y.tolist() == wanted
        assert graph.train_mask.nonzero().flatten().tolist() == [0, 1]
        assert graph.test_mask.nonzero().flatten().tolist() == [502, 503]
    written = [path.name for path in (tmp_path / "Cora" / "processed").iterdir()]
    assert written == ["graphpe.pt"]
    sums = PlanetoidSource("Cora", tmp_path).load().graphs[0].x.sum(1)
    assert torch.allclose(sums[:3], torch.ones(3))
    plain = PlanetoidSource("Cora", tmp_path, normalize_features=False).load().graphs[0]
    assert torch.equal(plain.x, Planetoid(tmp_path, "Cora")[0].x)


@pytest.mark.parametrize(
    ("source", "folder"),
    [(WebKBSource, "{name}"), (WikipediaSource, "{name}/geom_gcn")],
)
def test_geom_gcn(source: type, folder: str, tmp_path: Path) -> None:
    name = "texas" if source is WebKBSource else "squirrel"
    write_geom_gcn(tmp_path / folder.format(name=name) / "raw", name)
    (graph,), index = source(name, tmp_path).load()
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 2], [2, 2]]
    assert graph.x.tolist() == [[1, 0], [0.5, 0.5], [0, 0]]
    assert graph.y.tolist() == [2, 0, 1]
    assert {part: nodes.tolist() for part, nodes in index.items()} == {
        "train": [0],
        "valid": [1],
        "test": [2],
    }
    assert source(name, tmp_path, split=9).load().index["train"].tolist() == [2]
    (both,) = source(name, tmp_path, undirected=True).load().graphs
    assert both.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [2, 2]]


def test_heterophilous(tmp_path: Path) -> None:
    write_heterophilous(tmp_path / "tolokers" / "raw")
    (graph,), index = HeterophilousSource("tolokers", tmp_path, split=3).load()
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert index["test"].tolist() == [2, 3]


def test_directed_citations_have_a_seeded_split(tmp_path: Path) -> None:
    write_citations(tmp_path / "cora_ml" / "raw")
    source = DirectedCitationSource("Cora_ML", tmp_path)
    (graph,), index = source.load()
    assert graph.num_edges == 599
    assert graph.is_directed()
    assert graph.y[index["train"]].bincount().tolist() == [20, 20]
    assert [len(nodes) for nodes in index.values()] == [40, 500, 60]
    assert torch.equal(torch.cat(list(index.values())).sort().values, torch.arange(600))
    again, other = source.load().index, DirectedCitationSource("Cora_ML", tmp_path, seed=1).load()
    assert all(torch.equal(index[part], again[part]) for part in index)
    assert not torch.equal(index["train"], other.index["train"])


# --- the real files -------------------------------------------------------------------------------

REAL = {
    "planetoid/Cora": (Planetoid, datasets.Planetoid),
    "planetoid/CiteSeer": (Planetoid, datasets.Planetoid),
    "webkb/texas": (WebKB, datasets.WebKB),
    "webkb/wisconsin": (WebKB, datasets.WebKB),
    "webkb/cornell": (WebKB, datasets.WebKB),
    "wikipedia/chameleon": (WikipediaNetwork, datasets.WikipediaNetwork),
    "heterophilous/tolokers": (HeterophilousGraph, datasets.HeterophilousGraphDataset),
    "heterophilous/minesweeper": (HeterophilousGraph, datasets.HeterophilousGraphDataset),
    "directed/Cora_ML": (DirectedCitations, datasets.CitationFull),
    "directed/CiteSeer": (DirectedCitations, datasets.CitationFull),
}


@pytest.mark.parametrize("where", REAL)
def test_graphs_are_those_of_pyg(where: str, shared_data: Path, tmp_path: Path) -> None:
    ours, theirs = REAL[where]
    family, name = where.split("/")
    folder = shared_data / family / (name.lower() if family == "directed" else name)
    if not folder.is_dir():
        pytest.skip(f"{where} is not in {shared_data}")
    shutil.copytree(folder, tmp_path / folder.name, copy_function=shutil.copyfile)
    settings = {"to_undirected": False} if family == "directed" else {}
    mine, other = ours(tmp_path, name)[0], theirs(str(tmp_path), name, **settings)[0]
    assert set(mine.keys()) == set(other.keys())
    for key in mine.keys():  # noqa: SIM118  a Data is no dictionary
        assert mine[key].dtype == other[key].dtype
        assert torch.equal(mine[key], other[key])


# --- downloads and faults -------------------------------------------------------------------------

OF_ALL = [
    (Planetoid, "PubMed"),
    (WebKB, "wisconsin"),
    (WikipediaNetwork, "squirrel"),
    (HeterophilousGraph, "tolokers"),
    (DirectedCitations, "CiteSeer"),
]


@pytest.mark.parametrize(("cls", "name"), OF_ALL)
def test_offline_is_one_line_and_leaves_nothing(
    cls: type[OneGraph], name: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="could not be downloaded") as error:
        cls(tmp_path / "data", name)
    message = one_line(error)
    assert name in message
    assert str(tmp_path) in message
    assert "yourself" in message
    assert list(tmp_path.iterdir()) == []


class Response(io.BytesIO):
    headers: ClassVar[dict[str, str]] = {}


def test_downloads_pygs_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_geom_gcn(tmp_path / "server", "texas")
    urls: list[str] = []

    def answer(url: str, timeout: float) -> Response:
        urls.append(url)
        return Response((tmp_path / "server" / url.rpartition("/")[2]).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    assert WebKB(tmp_path / "data", "texas")[0].num_nodes == 3
    assert urls[0] == f"{datasets.WebKB.url}/new_data/texas/out1_node_feature_label.txt"
    assert urls[2] == f"{datasets.WebKB.url}/splits/texas_split_0.6_0.2_0.npz"
    assert len(urls) == 12
    WebKB(tmp_path / "data", "texas")
    assert len(urls) == 12
    folders = {path.name for path in (tmp_path / "data" / "texas").iterdir()}
    assert folders == {"raw", "processed"}


def test_a_connection_that_breaks_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def answer(url: str, timeout: float) -> Response:
        calls.append(url)
        if len(calls) > 3:
            raise ConnectionResetError("reset by peer")
        return Response(b"content")

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    with pytest.raises(ValueError, match="reset by peer") as error:
        Planetoid(tmp_path / "data", "Cora")
    one_line(error)
    assert len(calls) == 4
    assert list(tmp_path.iterdir()) == []


def test_incomplete_raw_folder_is_named_and_stays(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "Cora" / "raw")
    (tmp_path / "Cora" / "raw" / "ind.cora.allx").unlink()
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=r"ind\.cora\.allx missing") as error:
        Planetoid(tmp_path, "Cora")
    one_line(error)
    assert set(tmp_path.rglob("*")) == before


def test_truncated_files_are_named(tmp_path: Path) -> None:
    write_planetoid(tmp_path / "Cora" / "raw")
    write_geom_gcn(tmp_path / "texas" / "raw", "texas")
    write_heterophilous(tmp_path / "tolokers" / "raw")
    write_citations(tmp_path / "cora_ml" / "raw")
    for cls, name, folder, file in (
        (Planetoid, "Cora", "Cora", "ind.cora.allx"),
        (WebKB, "texas", "texas", "out1_node_feature_label.txt"),
        (WebKB, "texas", "texas", "texas_split_0.6_0.2_4.npz"),
        (HeterophilousGraph, "tolokers", "tolokers", "tolokers.npz"),
        (DirectedCitations, "Cora_ML", "cora_ml", "cora_ml.npz"),
    ):
        path = tmp_path / folder / "raw" / file
        whole = path.read_bytes()
        path.write_bytes(whole[:-2] if path.suffix == ".txt" else whole[: len(whole) * 2 // 3])
        with pytest.raises(ValueError, match="broken or truncated") as error:
            cls(tmp_path, name)
        assert str(path) in one_line(error)
        assert not (tmp_path / folder / "processed").exists()
        path.write_bytes(whole)


def test_masks_of_another_length_are_named(tmp_path: Path) -> None:
    write_geom_gcn(tmp_path / "texas" / "raw", "texas")
    path = tmp_path / "texas" / "raw" / "texas_split_0.6_0.2_2.npz"
    np.savez(path, train_mask=np.ones(4), val_mask=np.ones(4), test_mask=np.ones(4))
    with pytest.raises(ValueError, match=r"masks of \[4, 4, 4\] nodes, but there are 3") as error:
        WebKB(tmp_path, "texas")
    assert path.name in one_line(error)


def test_an_edge_to_no_node_is_refused(tmp_path: Path) -> None:
    write_geom_gcn(tmp_path / "texas" / "raw", "texas")
    (tmp_path / "texas" / "raw" / "out1_graph_edges.txt").write_text("a\tb\n0\t7\n")
    with pytest.raises(ValueError, match=r"the raw files .* are wrong"):
        WebKB(tmp_path, "texas")


class Harmful:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("harm",)


def test_no_code_in_a_pickle_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_planetoid(tmp_path / "Cora" / "raw")
    path = tmp_path / "Cora" / "raw" / "ind.cora.graph"
    path.write_bytes(pickle.dumps({0: Harmful()}))
    with pytest.raises(ValueError, match="mkdir is no part of an array") as error:
        Planetoid(tmp_path, "Cora")
    assert str(path) in one_line(error)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PlanetoidSource("cora"), "name is 'cora'"),
        (lambda: WebKBSource("Texas"), "name is 'Texas'"),
        (lambda: WikipediaSource("crocodile"), "name is 'crocodile'"),
        (lambda: HeterophilousSource("questions"), "name is 'questions'"),
        (lambda: DirectedCitationSource("PubMed"), "name is 'PubMed'"),
        (lambda: WebKBSource("texas", split=10), "split is 10; it must be a number from 0 to 9"),
        (lambda: WikipediaSource("squirrel", split=-1), "split is -1"),
        (lambda: HeterophilousSource("tolokers", split=True), "split is True"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_loaded(make, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        make()
    one_line(error)
