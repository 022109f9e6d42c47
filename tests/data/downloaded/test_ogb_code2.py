"""ogbg-code2: function names as words and as numbers, from a made-up folder to batches."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from code2_folder import NAMES, SIZES, write, write_code2
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from graphpe import Features
from graphpe.data import GraphDataModule, OGBGraphs, OGBSource
from graphpe.data.downloaded.ogb import _graphproppred
from graphpe.transforms import AddRandomWalkPE

pytestmark = pytest.mark.usefixtures("offline", "forbid_input")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_code2(tmp_path)


def test_words_and_nodes_are_those_of_ogbs_own_loader(folder: Path) -> None:
    """The names "nan", "None" and "NA" all become the word "nan"."""
    with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
        theirs = _graphproppred.PygGraphPropPredDataset("ogbg-code2", str(folder.parent))
    for _ in range(2):  # processed, then loaded
        ours = OGBGraphs("ogbg-code2", folder.parent)
        assert [graph.y for graph in ours] == [graph.y for graph in theirs] == NAMES
        for graph, their_graph in zip(ours, theirs, strict=True):
            assert graph.num_nodes == their_graph.num_nodes
            for key in ("x", "edge_index", "node_depth", "node_dfs_order", "node_is_attributed"):
                assert torch.equal(graph[key], their_graph[key])


def test_source_numbers_the_words_of_training_names(folder: Path) -> None:
    graphs, _ = OGBSource("ogbg-code2", folder.parent).load()
    # In training: run 3, get 2, nan 2, fast 1, item 1. Elsewhere: set, 2 and none.
    first = 1_000_000
    assert [graph.y.tolist() for graph in graphs] == [
        [[1, 4, -1]],
        [[2, -1, -1]],
        [[1, 0, -1]],
        [[2, -1, -1]],
        [[first, 4, first + 1]],
        [[2, -1, -1]],
        [[first + 2, -1, -1]],
        [[0, 0, 3]],
    ]
    assert graphs.y.dtype == torch.long


def test_source_keeps_the_trees_and_clips_depths(folder: Path) -> None:
    graphs, _ = OGBSource("ogbg-code2", folder.parent).load()
    largest = graphs[7]
    assert largest.node_depth.flatten().tolist() == [*range(20), 20, 20, 20, 20, 20]
    assert largest.node_dfs_order.flatten().tolist() == list(range(25))
    assert largest.edge_index.tolist() == [list(range(24)), list(range(1, 25))]
    assert graphs[0].x.tolist() == [[0, 10029], [1, 10028], [2, 10027]]
    # The processed file and OGBGraphs stay as OGB has them.
    untouched = OGBGraphs("ogbg-code2", folder.parent)
    assert untouched[7].node_depth.max() == 24
    assert untouched[7].y == ["run", "run", "fast"]


@pytest.mark.parametrize("encodings", [[], [AddRandomWalkPE(3)]])
def test_batches(folder: Path, encodings: list[AddRandomWalkPE]) -> None:
    module = GraphDataModule(
        OGBSource("ogbg-code2", folder.parent),
        encodings,
        batch_size=2,
        features=Features(node_categories=(98, 10030)),
    )
    module.prepare_data()
    module.setup()
    assert module.num_graphs == {"train": 5, "valid": 1, "test": 2}
    (test,) = module.test_dataloader()
    assert test.y.tolist() == [[1_000_002, -1, -1], [2, -1, -1]]
    assert test.x.shape == (3, 2)
    names = [tuple(name) for batch in module.train_dataloader() for name in batch.y.tolist()]
    assert sorted(names) == [(0, 0, 3), (1, 0, -1), (1, 4, -1), (2, -1, -1), (2, -1, -1)]


def test_missing_and_short_files_of_nodes_are_named(folder: Path) -> None:
    path = folder / "raw" / "node_dfs_order.csv.gz"
    write(folder, "raw/node_dfs_order", [f"{node}" for size in SIZES[:-1] for node in range(size)])
    with pytest.raises(
        ValueError, match=r"graph 7 has 0 rows in node_dfs_order.csv.gz but needs 25"
    ):
        OGBGraphs("ogbg-code2", folder.parent)
    path.unlink()
    with pytest.raises(ValueError, match=r"raw/node_dfs_order.csv.gz is missing"):
        OGBGraphs("ogbg-code2", folder.parent)
