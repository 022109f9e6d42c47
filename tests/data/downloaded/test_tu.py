"""The TU collection: the same graphs as PyG's class, and the splits of a cross-validation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from raw_graph_folders import cycle, write_tu
from torch_geometric.datasets import TUDataset

from graphpe.data import TUGraphs, TUSource

pytestmark = pytest.mark.usefixtures("offline")

SIZES = [3, 5, 1, 4, 2, 6]
NODES, EDGES = sum(SIZES), sum(cycle(n).shape[1] for n in SIZES)
COLUMNS = {
    "node_labels": [number % 3 for number in range(NODES)],
    "node_attributes": [f"{number / 2}, 1.0" for number in range(NODES)],
    "edge_labels": [number % 2 for number in range(EDGES)],
    "edge_attributes": [float(number) for number in range(EDGES)],
    "graph_labels": [1, -1, 1, -1, 1, -1],
}


def assert_same_as_pyg(root: Path, name: str, **settings: bool) -> None:
    theirs = TUDataset(str(root), name, **settings)
    for _ in range(2):  # processed, then loaded
        ours = TUGraphs(name, root, **settings)
    assert len(ours) == len(theirs)
    for graph, their_graph in zip(ours, theirs, strict=True):
        assert set(graph.keys()) == set(their_graph.keys())
        assert graph.num_nodes == their_graph.num_nodes
        for key in graph.keys():  # noqa: SIM118 - of a Data
            assert torch.equal(torch.as_tensor(graph[key]), torch.as_tensor(their_graph[key]))


@pytest.mark.parametrize("use_attr", [True, False])
def test_graphs_are_those_of_pyg(tmp_path: Path, use_attr: bool) -> None:
    write_tu(tmp_path, "SMALL", SIZES, **COLUMNS)
    assert_same_as_pyg(tmp_path, "SMALL", use_node_attr=use_attr, use_edge_attr=use_attr)


def test_graphs_without_features_are_those_of_pyg(tmp_path: Path) -> None:
    write_tu(tmp_path, "BARE", SIZES, graph_labels=COLUMNS["graph_labels"])
    assert_same_as_pyg(tmp_path, "BARE")


def test_attributes_alone_can_be_left_out(tmp_path: Path) -> None:
    """PyG gives ``x`` without columns here."""
    names = ("node_attributes", "edge_attributes", "graph_labels")
    write_tu(tmp_path, "SMALL", SIZES, **{name: COLUMNS[name] for name in names})
    graphs = TUGraphs("SMALL", tmp_path)
    assert [graph.num_nodes for graph in graphs] == SIZES
    assert graphs[0].x is None
    assert graphs[0].edge_attr is None
    assert [g.num_nodes for g in graphs[torch.tensor([4, 2])]] == [2, 1]
    assert TUGraphs("SMALL", tmp_path, use_node_attr=True)[1].x.shape == (5, 2)


def test_graphs_without_edges_at_the_end(tmp_path: Path) -> None:
    """PyG gives these no row in its slices, and fails on access."""
    columns = {"node_labels": [0] * 6, "edge_labels": [0] * 4, "graph_labels": [0, 1, 1, 0]}
    write_tu(tmp_path, "SMALL", [2, 2, 1, 1], **columns)
    graphs = TUGraphs("SMALL", tmp_path)
    assert [graph.num_edges for graph in graphs] == [2, 2, 0, 0]
    assert [graph.num_nodes for graph in graphs] == [2, 2, 1, 1]
    assert [len(graph.edge_attr) for graph in graphs] == [2, 2, 0, 0]


@pytest.mark.parametrize("name", ["ENZYMES", "PROTEINS"])
def test_real_graphs_are_those_of_pyg(shared_data: Path, tmp_path: Path, name: str) -> None:
    if not (shared_data / "tu" / name).is_dir():
        pytest.skip(f"{name} is not in {shared_data}")
    source, target = shared_data / "tu" / name / "raw", tmp_path / name / "raw"
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    assert_same_as_pyg(tmp_path, name, use_node_attr=True)


def test_folds_of_the_source(tmp_path: Path) -> None:
    write_tu(tmp_path, "SMALL", SIZES * 5, graph_labels=COLUMNS["graph_labels"] * 5)
    splits = [TUSource("SMALL", tmp_path, fold=fold, folds=5).load().index for fold in range(5)]
    assert [len(part) for part in splits[0].values()] == [18, 6, 6]
    tested = torch.cat([split["test"] for split in splits])
    assert tested.sort().values.tolist() == list(range(30))
    for split in splits:
        assert split["test"].remainder(2).sum() == 3  # of both classes alike
    with pytest.raises(ValueError, match="fold is 10; it must be an integer from 0 to 9"):
        TUSource("SMALL", tmp_path, fold=10)


def test_float_targets(tmp_path: Path) -> None:
    targets = [f"{number}.5, 1.0" for number in range(6)]
    write_tu(tmp_path, "SMALL", SIZES, graph_attributes=targets)
    graphs, index = TUSource("SMALL", tmp_path, folds=3).load()
    assert graphs[2].y.tolist() == [[2.5, 1.0]]
    assert [len(part) for part in index.values()] == [2, 2, 2]


@pytest.mark.parametrize(
    ("file", "rows", "message"),
    [
        ("graph_labels", [1, -1], r"there are 2 targets, and 38 rows of edge_index"),
        ("node_labels", [0, 1], "is broken or truncated"),
        ("edge_labels", [0, 1, 1], "is broken or truncated"),
        ("node_labels", ["a"] * NODES, "is broken or truncated"),
        ("A", ["1, 2", "2, 30"], "is broken or truncated|are wrong"),
        ("A", ["1, 2", "2, 1", "1, 6"], "are wrong: edge_index of graph 0 has the edge"),
        ("graph_indicator", [], "is broken or truncated"),
    ],
)
def test_wrong_rows_are_an_error(tmp_path: Path, file: str, rows: list, message: str) -> None:
    columns = {name: COLUMNS[name] for name in ("node_labels", "edge_labels", "graph_labels")}
    if file == "A":
        del columns["edge_labels"]
    raw = write_tu(tmp_path, "SMALL", SIZES, **{**columns, file: rows})
    with pytest.raises(ValueError, match=message) as error:
        TUGraphs("SMALL", tmp_path)
    assert str(raw) in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "SMALL" / "processed").exists()


def test_no_targets(tmp_path: Path) -> None:
    write_tu(tmp_path, "SMALL", SIZES)
    with pytest.raises(ValueError, match="there are neither graph_labels nor graph_attributes"):
        TUGraphs("SMALL", tmp_path)
