"""Alchemy: the published choice of molecules, each in one part, with standardised targets."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from raw_graph_folders import write_alchemy
from torch_geometric.datasets import TUDataset

from graphpe import Features
from graphpe.data import AlchemyGraphs, AlchemySource, TUGraphs
from graphpe.data.feature_check import check_features

pytestmark = pytest.mark.usefixtures("offline")


def test_chosen_molecules_are_those_of_pyg_with_standardised_targets(tmp_path: Path) -> None:
    write_alchemy(tmp_path, 30, ([4, 29, 0, 7], [3, 11], [20, 2]))
    theirs = TUDataset(str(tmp_path), "alchemy_full")
    for _ in range(2):  # processed, then loaded
        graphs, index = AlchemySource(tmp_path).load()
    y = theirs._data.y  # of all molecules, not only of those chosen
    wanted = (y - y.mean(dim=0, keepdim=True)) / y.std(dim=0, keepdim=True)
    numbers = {"train": [4, 29, 0, 7], "valid": [3, 11], "test": [20, 2]}
    for part, chosen in numbers.items():
        for graph, number in zip(graphs[index[part]], chosen, strict=True):
            other = theirs[number]
            assert torch.equal(graph.x, other.x)
            assert torch.equal(graph.edge_index, other.edge_index)
            assert torch.equal(graph.edge_attr, other.edge_attr)
            assert torch.allclose(graph.y, wanted[number : number + 1], atol=1e-6)
    check_features(Features(node_continuous=6, edge_continuous=4), graphs)


def test_a_molecule_is_in_one_part_once(tmp_path: Path) -> None:
    write_alchemy(tmp_path, 30, ([1, 2, 1, 3, 4, 5], [3, 6, 6, 4], [4, 7, 7]))
    graphs, index = AlchemySource(tmp_path).load()
    assert [len(part) for part in index.values()] == [3, 2, 2]  # 1 2 5, 3 6, 4 7
    everything = torch.cat(list(index.values()))
    assert everything.tolist() == list(range(len(graphs)))
    assert [graph.num_nodes for graph in graphs] == [2 + n % 4 for n in (1, 2, 5, 3, 6, 4, 7)]


@pytest.mark.parametrize("numbers", ["1,30", "1,-2", "1,x", ""])
def test_wrong_numbers_are_an_error(tmp_path: Path, numbers: str) -> None:
    raw = write_alchemy(tmp_path, 30, ([1], [2], [3]))
    (raw / "val_al_10.index").write_text(numbers)
    with pytest.raises(ValueError, match=r"val_al_10\.index is broken or truncated") as error:
        AlchemyGraphs(tmp_path)
    assert "\n" not in str(error.value)


def test_all_molecules_can_lie_beside_the_chosen_ones(tmp_path: Path) -> None:
    write_alchemy(tmp_path, 30, ([1], [2], [3]))
    assert len(AlchemyGraphs(tmp_path)) == 3
    assert len(TUGraphs("alchemy_full", tmp_path)) == 30
    assert len(AlchemyGraphs(tmp_path)) == 3
