"""Peptides: the same graphs as PyG's class, as one dataset with a split."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from raw_graph_folders import write_lrgb
from torch_geometric.datasets import LRGBDataset

from graphpe.data import LRGBGraphs, LRGBSource

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize("name", ["peptides-func", "peptides-struct"])
def test_parts_are_those_of_pyg(tmp_path: Path, name: str) -> None:
    write_lrgb(tmp_path, name)
    for _ in range(2):  # processed, then loaded
        ours, split = LRGBSource(name, tmp_path).load()
    for part, their_name in (("train", "train"), ("valid", "val"), ("test", "test")):
        theirs = LRGBDataset(str(tmp_path), name, split=their_name)
        assert len(theirs) == len(split[part])
        for graph, their_graph in zip(ours[split[part]], theirs, strict=True):
            assert graph.keys() == their_graph.keys()
            for key in graph.keys():  # noqa: SIM118 - of a Data
                assert torch.equal(graph[key], their_graph[key])
                assert graph[key].dtype == their_graph[key].dtype


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name is 'coco-sp'; it must be 'peptides-func' or"):
        LRGBGraphs("coco-sp", tmp_path)
