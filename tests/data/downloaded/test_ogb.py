"""OGBGraphs: the same graphs as OGB's loader, and none of its faults."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from graphpe.data import OGBGraphs
from graphpe.data.downloaded.ogb import _graphproppred

pytestmark = pytest.mark.usefixtures("offline", "forbid_input")

MakeFolder = Callable[..., Path]


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_b40_graphs_are_those_of_ogbs_own_loader(molesol: Path) -> None:
    """B40: loads under torch >= 2.6, the first time and from the processed file."""
    load = torch.load
    allowed = torch.serialization.get_safe_globals()
    first = OGBGraphs("ogbg-molesol", molesol)
    again = OGBGraphs("ogbg-molesol", molesol)
    assert torch.load is load
    assert torch.serialization.get_safe_globals() == allowed

    with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
        theirs = _graphproppred.PygGraphPropPredDataset("ogbg-molesol", str(molesol))
    for ours in (first, again):
        assert isinstance(ours, _graphproppred.PygGraphPropPredDataset)
        assert len(ours) == len(theirs) == 1128
        for graph, their_graph in zip(ours, theirs, strict=True):
            assert set(graph.keys()) == set(their_graph.keys())
            assert graph.num_nodes == their_graph.num_nodes
            for key in ("x", "edge_index", "edge_attr", "y"):
                assert torch.equal(graph[key], their_graph[key])
                assert graph[key].dtype == their_graph[key].dtype
        split, their_split = ours.get_idx_split(), theirs.get_idx_split()
        assert {part: len(index) for part, index in split.items()} == {
            "train": 902,
            "valid": 113,
            "test": 113,
        }
        assert all(torch.equal(split[part], their_split[part]) for part in their_split)


def test_loading_prints_and_warns_nothing(molesol: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OGBGraphs("ogbg-molesol", molesol).get_idx_split()
    assert capfd.readouterr() == ("", "")


def test_nothing_but_the_processed_file_is_written(molesol: Path) -> None:
    before = set(molesol.rglob("*"))
    OGBGraphs("ogbg-molesol", molesol)
    processed = molesol / "ogbg_molesol" / "processed"
    assert set(molesol.rglob("*")) - before == {processed, processed / "graphpe.pt"}


def test_b23_processed_files_of_others_are_neither_used_nor_touched(molesol: Path) -> None:
    """B23: a file that OGB processed with somebody's pre_transform does not get in."""

    def drop_features(data):
        data.x = torch.zeros(data.num_nodes, 1)
        return data

    with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
        _graphproppred.PygGraphPropPredDataset(
            "ogbg-molesol", str(molesol), pre_transform=drop_features
        )
    theirs = molesol / "ogbg_molesol" / "processed" / "geometric_data_processed.pt"
    content = theirs.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OGBGraphs("ogbg-molesol", molesol)[0].x.shape[1] == 9
    assert theirs.read_bytes() == content


def test_transform_runs_on_access(molesol: Path) -> None:
    graphs = OGBGraphs("ogbg-molesol", molesol, transform=lambda data: "transformed")
    assert graphs[3] == "transformed"


def test_unknown_name_suggests_a_name() -> None:
    with pytest.raises(ValueError, match="did you mean 'ogbg-molhiv'") as error:
        OGBGraphs("ogbg-molhvi")
    assert "ogbg-ppa" in one_line(error)


# --- tiny folders ---------------------------------------------------------------------------------


def test_single_nodes_and_edgeless_graphs(tmp_path: Path, make_ogb_folder: MakeFolder) -> None:
    make_ogb_folder(tmp_path / "ogbg_molesol")
    graphs = OGBGraphs("ogbg-molesol", tmp_path)
    assert [graph.num_nodes for graph in graphs] == [3, 1, 3]
    assert graphs[0].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graphs[1].edge_index.shape == (2, 0)
    assert graphs[1].edge_attr.shape == (0, 3)
    assert graphs.y.flatten().tolist() == [0.5, -1.5, 2.0]


def test_ppa_has_node_counts_without_node_features(
    tmp_path: Path, make_ogb_folder: MakeFolder
) -> None:
    make_ogb_folder(
        tmp_path / "ogbg_ppa",
        split="species",
        node_feat=[],
        edge_feat=[[0.1 * i] * 7 for i in range(5)],
        graph_label=[[36], [0], [5]],
    )
    for _ in range(2):  # processed, then loaded
        graphs = OGBGraphs("ogbg-ppa", tmp_path)
        assert [graph.num_nodes for graph in graphs] == [3, 1, 3]
        assert graphs[0].x is None
        assert Batch.from_data_list(list(graphs)).num_nodes == 7
    assert graphs[2].edge_attr.dtype == torch.float32
    assert graphs[2].edge_attr[:, 0].tolist() == pytest.approx([0.2, 0.2, 0.3, 0.3, 0.4, 0.4])
    assert graphs.y.tolist() == [[36], [0], [5]]
    assert graphs.y.dtype == torch.long


def test_code2_has_token_labels_and_directed_edges(
    tmp_path: Path, make_ogb_folder: MakeFolder
) -> None:
    nodes = [[i] for i in range(7)]
    make_ogb_folder(
        tmp_path / "ogbg_code2",
        split="project",
        edge_feat=[],
        graph_label=[["get item"], ["run"], ["to str x"]],
        node_is_attributed=nodes,
        node_dfs_order=nodes,
        node_depth=nodes,
    )
    for name in ("node-is-attributed", "node-dfs-order", "node-depth"):
        path = tmp_path / "ogbg_code2" / "raw" / f"{name}.csv.gz"
        path.rename(path.with_name(name.replace("-", "_") + ".csv.gz"))
    graphs = OGBGraphs("ogbg-code2", tmp_path)
    assert [graph.y for graph in graphs] == [["get", "item"], ["run"], ["to", "str", "x"]]
    assert graphs[0].edge_index.tolist() == [[0, 1], [1, 2]]
    assert graphs[2].node_depth.flatten().tolist() == [4, 5, 6]


def test_missing_labels_make_a_classification_float(
    tmp_path: Path, make_ogb_folder: MakeFolder
) -> None:
    labels = [[0] * 12, [1] * 11 + [""], [""] * 11 + [1]]
    make_ogb_folder(tmp_path / "ogbg_moltox21", graph_label=labels)
    y = OGBGraphs("ogbg-moltox21", tmp_path).y
    assert y.dtype == torch.float32
    assert y.isnan().sum(dim=1).tolist() == [0, 1, 11]


def test_old_folder_names_of_ogb_are_found(tmp_path: Path, make_ogb_folder: MakeFolder) -> None:
    make_ogb_folder(tmp_path / "ogbg_molesol_pyg")
    assert len(OGBGraphs("ogbg-molesol", tmp_path)) == 3


# --- split ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_b40_split_saved_as_arrays(tmp_path: Path, make_ogb_folder: MakeFolder, kind: str) -> None:
    """B40: a split_dict.pt with NumPy arrays, which torch.load refuses."""
    folder = make_ogb_folder(tmp_path / "ogbg_molesol")
    values = {"train": [2], "valid": [0], "test": [1]}
    convert = np.array if kind == "numpy" else torch.tensor
    torch.save(
        {part: convert(value) for part, value in values.items()},
        folder / "split" / "scaffold" / "split_dict.pt",
    )
    split = OGBGraphs("ogbg-molesol", tmp_path).get_idx_split()
    assert {part: index.tolist() for part, index in split.items()} == values
    assert all(index.dtype == torch.long for index in split.values())


def test_split_file_with_code_is_refused(tmp_path: Path, make_ogb_folder: MakeFolder) -> None:
    folder = make_ogb_folder(tmp_path / "ogbg_molesol")
    torch.save({"train": Path("x")}, folder / "split" / "scaffold" / "split_dict.pt")
    with pytest.raises(ValueError, match=r"split in .* is missing or broken"):
        OGBGraphs("ogbg-molesol", tmp_path).get_idx_split()


def test_bad_splits(tmp_path: Path, make_ogb_folder: MakeFolder) -> None:
    folder = make_ogb_folder(tmp_path / "ogbg_molesol")
    graphs = OGBGraphs("ogbg-molesol", tmp_path)
    with pytest.raises(ValueError, match=r"split in .*random is missing or broken") as error:
        graphs.get_idx_split("random")
    one_line(error)
    split = folder / "split" / "scaffold"
    shutil.copy(split / "valid.csv.gz", split / "test.csv.gz")
    with pytest.raises(ValueError, match="a graph in more than one part"):
        graphs.get_idx_split()
    (split / "train.csv.gz").write_bytes((split / "train.csv.gz").read_bytes()[:-9])
    with pytest.raises(ValueError, match="is missing or broken"):
        graphs.get_idx_split()


def test_split_of_another_dataset(
    tmp_path: Path, molesol: Path, make_ogb_folder: MakeFolder
) -> None:
    folder = make_ogb_folder(tmp_path / "tiny" / "ogbg_molesol")
    shutil.rmtree(folder / "split")
    shutil.copytree(molesol / "ogbg_molesol" / "split", folder / "split")
    with pytest.raises(ValueError, match="from 0 to 1127, but there are 3 graphs"):
        OGBGraphs("ogbg-molesol", tmp_path / "tiny").get_idx_split()


# --- real data, see also test_cards.py -----------------------------------------------------------


def test_tox21_has_missing_labels(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "ogb" / "ogbg_moltox21"
    if not folder.is_dir():
        pytest.skip(f"ogbg-moltox21 is not in {shared_data}")
    shutil.copytree(folder, tmp_path / folder.name, copy_function=shutil.copyfile)
    y = OGBGraphs("ogbg-moltox21", tmp_path).y
    assert y.shape == (7831, 12)
    assert y.dtype == torch.float32
    assert 0 < y.isnan().float().mean() < 0.5
