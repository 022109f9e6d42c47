"""PATTERN and CLUSTER: the same graphs as PyG's class, as one dataset with a split."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from raw_graph_folders import write_gnn_benchmark
from torch_geometric.datasets import GNNBenchmarkDataset

from graphpe.data import GNNBenchmarkGraphs, GNNBenchmarkSource

pytestmark = pytest.mark.usefixtures("offline")


@pytest.mark.parametrize("name", ["PATTERN", "CLUSTER"])
def test_parts_are_those_of_pyg(tmp_path: Path, name: str) -> None:
    write_gnn_benchmark(tmp_path, name)
    for _ in range(2):  # processed, then loaded
        ours, split = GNNBenchmarkSource(name, tmp_path).load()
    for part, their_name in (("train", "train"), ("valid", "val"), ("test", "test")):
        theirs = GNNBenchmarkDataset(str(tmp_path), name, split=their_name)
        assert len(theirs) == len(split[part])
        for graph, their_graph in zip(ours[split[part]], theirs, strict=True):
            assert graph.keys() == their_graph.keys()
            for key in graph.keys():  # noqa: SIM118 - of a Data
                assert torch.equal(graph[key], their_graph[key])
                assert graph[key].dtype == their_graph[key].dtype


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name is 'MNIST'; it must be 'PATTERN' or 'CLUSTER'"):
        GNNBenchmarkGraphs("MNIST", tmp_path)
