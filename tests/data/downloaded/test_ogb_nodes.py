"""OGBNodes and its source, on fabricated folders of OGB's raw layout."""

from __future__ import annotations

import gzip
import io
import shutil
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from ogb.nodeproppred import Evaluator, PygNodePropPredDataset
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from graphpe import Task
from graphpe.data import GraphDataModule, OGBNodes, OGBNodeSource
from graphpe.training.collector import Evaluation
from graphpe.training.metrics import scores
from graphpe.transforms import AddRandomWalkPE

pytestmark = pytest.mark.usefixtures("offline", "forbid_input")

Rows = Sequence[Sequence[object]]
MakeFolder = Callable[..., Path]

_SPLITS = {"ogbn-arxiv": "time", "ogbn-products": "sales_ranking", "ogbn-proteins": "species"}


def write_gzip(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.fixture
def make_folder() -> MakeFolder:
    """Writes a path of four nodes and an isolated one, in the raw layout of a dataset."""

    def make(root: Path, name: str, **replaced: Rows) -> Path:
        raw: dict[str, Rows] = {
            "edge": [[0, 1], [2, 1], [2, 3]],
            "num-node-list": [[5]],
            "num-edge-list": [[3]],
            "node-label": [[3], [0], [39], [7], [1]],
        }
        if name == "ogbn-proteins":
            labels = np.arange(5 * 112).reshape(5, 112) % 3 % 2
            raw |= {
                "edge-feat": [[0.125 * (edge + 1)] * 8 for edge in range(3)],
                "node-label": labels.tolist(),
                "node_species": [[3702], [3702], [9606], [9606], [7227]],
            }
        else:
            width = 128 if name == "ogbn-arxiv" else 100
            raw["node-feat"] = [[0.5 * node] * width for node in range(5)]
        if name == "ogbn-arxiv":
            raw["node_year"] = [[2013], [2014], [2018], [2019], [2020]]
        raw |= {file.replace("__", "-"): rows for file, rows in replaced.items()}
        folder = root / name.replace("-", "_")
        for file, rows in raw.items():
            write_gzip(folder / "raw" / f"{file}.csv.gz", rows)
        for part, nodes in (("train", [0, 1]), ("valid", [2]), ("test", [4, 3])):
            path = folder / "split" / _SPLITS[name] / f"{part}.csv.gz"
            write_gzip(path, [[node] for node in nodes])
        (folder / "RELEASE_v1.txt").write_text("v1")
        return folder

    return make


@pytest.mark.parametrize("name", _SPLITS)
def test_the_graph_is_that_of_ogbs_own_loader(
    name: str, tmp_path: Path, make_folder: MakeFolder
) -> None:
    make_folder(tmp_path / "ours", name)
    make_folder(tmp_path / "theirs", name)
    with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
        theirs = PygNodePropPredDataset(name, str(tmp_path / "theirs"))
    for _ in range(2):  # processed, then loaded
        ours = OGBNodes(name, tmp_path / "ours")
        assert isinstance(ours, PygNodePropPredDataset)
        graph, their_graph = ours[0], theirs[0]
        assert len(ours) == 1
        assert set(graph.keys()) == set(their_graph.keys())
        assert graph.num_nodes == their_graph.num_nodes == 5
        for key in set(graph.keys()) - {"num_nodes"}:
            assert torch.equal(graph[key], their_graph[key]), key
            assert graph[key].dtype == their_graph[key].dtype
        split, their_split = ours.get_idx_split(), theirs.get_idx_split()
        assert all(torch.equal(split[part], their_split[part]) for part in their_split)
    written = [
        path.name for path in (tmp_path / "ours" / name.replace("-", "_") / "processed").iterdir()
    ]
    assert written == ["graphpe.pt"]


def test_arxiv_as_a_source(tmp_path: Path, make_folder: MakeFolder) -> None:
    make_folder(tmp_path, "ogbn-arxiv")
    (graph,), index = OGBNodeSource("ogbn-arxiv", tmp_path).load()
    assert set(graph.keys()) == {"x", "edge_index", "y", "num_nodes"}
    assert graph.edge_index.T.tolist() == [[0, 1], [2, 1], [2, 3]]
    assert graph.y.tolist() == [[3], [0], [39], [7], [1]]
    assert index["test"].tolist() == [4, 3]
    (both,) = OGBNodeSource("ogbn-arxiv", tmp_path, undirected=True).load().graphs
    assert both.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    module = GraphDataModule(OGBNodeSource("ogbn-arxiv", tmp_path), [AddRandomWalkPE(2)])
    module.setup()
    (batch,) = module.test_dataloader()
    assert batch.y[3:].tolist() == [[7], [1]]
    assert batch.y[:3].isnan().all()


def test_proteins_have_features_of_edges_and_none_of_nodes(
    tmp_path: Path, make_folder: MakeFolder
) -> None:
    make_folder(tmp_path, "ogbn-proteins")
    source = OGBNodeSource("ogbn-proteins", tmp_path, undirected=True)
    (graph,), index = source.load()
    assert graph.x is None
    assert graph.num_nodes == 5
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [2, 1], [1, 2], [2, 3], [3, 2]]
    assert graph.edge_attr[:, 0].tolist() == [0.125, 0.125, 0.25, 0.25, 0.375, 0.375]
    assert source.part([graph], index, "train")[0].y.shape == (5, 112)


def test_the_old_name_of_a_raw_file_of_proteins(tmp_path: Path, make_folder: MakeFolder) -> None:
    raw = make_folder(tmp_path, "ogbn-proteins") / "raw"
    (raw / "node_species.csv.gz").rename(raw / "species.csv.gz")
    assert OGBNodes("ogbn-proteins", tmp_path)[0].node_species.flatten().tolist()[0] == 3702


# --- evaluators -----------------------------------------------------------------------------------


def test_ogbs_evaluator_of_nodes_is_the_one_that_is_called() -> None:
    task = Task(kind="multiclass", metric="accuracy", num_classes=40, level="node")
    output, target = torch.randn(50, 40), torch.randint(0, 40, (50, 1)).double()
    places = torch.stack([torch.zeros(50, dtype=torch.long), torch.arange(50)], dim=1)
    found = scores(task, Evaluation(places, output, target), "ogbn-arxiv")["accuracy"]
    rows = {"y_true": target.numpy(), "y_pred": output.argmax(1, keepdim=True).numpy()}
    assert found == Evaluator("ogbn-arxiv").eval(rows)["acc"]


def test_a_wrong_number_of_targets_is_what_only_ogbs_evaluator_refuses() -> None:
    task = Task(kind="binary", metric="rocauc", num_targets=3, level="node")
    places = torch.stack([torch.zeros(20, dtype=torch.long), torch.arange(20)], dim=1)
    target = torch.arange(60).view(20, 3).double() % 2
    evaluation = Evaluation(places, torch.randn(20, 3), target)
    assert 0 <= scores(task, evaluation)["rocauc"] <= 1
    with pytest.raises(RuntimeError, match="should be 112 but 3 given"):
        scores(task, evaluation, "ogbn-proteins")


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ogbn-mag", "ogbn-papers100M"])
def test_what_is_not_supported_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="take ogbn-arxiv, ogbn-products or ogbn-proteins"
    ) as error:
        OGBNodes(name, tmp_path)
    one_line(error)


def test_unknown_name_suggests_a_name() -> None:
    with pytest.raises(
        ValueError, match=r"no OGB node dataset.*did you mean 'ogbn-arxiv'"
    ) as error:
        OGBNodes("ogbn-arxive")
    one_line(error)


def test_offline_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ogbn-arxiv could not be downloaded from http") as error:
        OGBNodes("ogbn-arxiv", tmp_path / "data")
    assert "yourself" in one_line(error)
    assert list(tmp_path.iterdir()) == []


class Response(io.BytesIO):
    headers: ClassVar[dict[str, str]] = {}


def test_downloads_and_unpacks(
    tmp_path: Path, make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "server", "ogbn-arxiv")
    folder.rename(folder.with_name("arxiv"))
    archive = shutil.make_archive(str(tmp_path / "arxiv"), "zip", tmp_path / "server")
    urls = []

    def answer(url: str, timeout: float) -> Response:
        urls.append(url)
        return Response(Path(archive).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    assert OGBNodes("ogbn-arxiv", tmp_path / "data")[0].num_nodes == 5
    assert urls == ["http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"]
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["ogbn_arxiv"]


@pytest.mark.parametrize("missing", ["RELEASE_v1.txt", "raw/node-label.csv.gz", "raw/edge.csv.gz"])
def test_incomplete_folder_is_an_error_and_stays(
    missing: str, tmp_path: Path, make_folder: MakeFolder
) -> None:
    folder = make_folder(tmp_path, "ogbn-products")
    (folder / missing).unlink()
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="is not a complete copy") as error:
        OGBNodes("ogbn-products", tmp_path)
    assert f"{missing} is missing" in one_line(error)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"node__label": [[0]] * 4}, "5 nodes but 4 labels"),
        ({"node__feat": [[0.5] * 128] * 4}, "graph 0 has 4 rows in node-feat.csv.gz but needs 5"),
        ({"node_year": [[2013]] * 2}, "graph 0 has 2 rows in node_year.csv.gz but needs 5"),
        ({"edge": [[0, 1], [1, 2], [0, 5]]}, "graph 0 has the edge"),
        ({"num__node__list": [[3], [2]], "num__edge__list": [[2], [1]]}, "hold 2 graphs"),
        ({"num__node__list": [["five"]]}, "broken or truncated"),
    ],
)
def test_raw_files_that_do_not_fit(
    replaced: dict[str, Rows], message: str, tmp_path: Path, make_folder: MakeFolder
) -> None:
    folder = make_folder(tmp_path, "ogbn-arxiv", **replaced)
    with pytest.raises(ValueError, match=message) as error:
        OGBNodes("ogbn-arxiv", tmp_path)
    one_line(error)
    assert not (folder / "processed").exists()


@pytest.mark.parametrize(
    ("nodes", "message"),
    [([9], "node numbers from 0 to 9, but there are 5 nodes"), ([0], "a node in more than one")],
)
def test_a_split_that_does_not_fit(
    nodes: list[int], message: str, tmp_path: Path, make_folder: MakeFolder
) -> None:
    folder = make_folder(tmp_path, "ogbn-arxiv")
    write_gzip(folder / "split" / "time" / "test.csv.gz", [nodes])
    with pytest.raises(ValueError, match=message) as error:
        OGBNodes("ogbn-arxiv", tmp_path).get_idx_split()
    one_line(error)
