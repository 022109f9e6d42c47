"""Histograms of in-degrees."""

from __future__ import annotations

import pytest
import torch
from nn_batches import graphs
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import PNAConv
from torch_geometric.transforms import AddSelfLoops

from graphpe.nn.degrees import in_degree_histogram


class Stored(InMemoryDataset):
    """Graphs in one piece."""

    def __init__(self, every: list[Data], transform=None) -> None:
        super().__init__(transform=transform)
        self.data, self.slices = self.collate(every)


def some_graphs() -> list[Data]:
    return [*graphs().values(), Data(edge_index=torch.tensor([[1, 2, 3], [0, 0, 0]]), num_nodes=4)]


def expected_of(every: list[Data]) -> list[int]:
    """As PyG counts."""
    return PNAConv.get_degree_histogram(every).tolist()


@pytest.mark.parametrize("kind", [list, iter, Stored, lambda every: DataLoader(every, 4)])
def test_equals_pyg(kind) -> None:
    every = [Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in some_graphs()]
    assert in_degree_histogram(kind(every)).tolist() == expected_of(every)
    assert sum(expected_of(every)) == sum(graph.num_nodes for graph in every)


def test_only_the_graphs_of_a_part() -> None:
    every = [Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in some_graphs()]
    numbers = [5, 2, 11, 2]
    part = Stored(every)[numbers]
    assert in_degree_histogram(part).tolist() == expected_of([every[n] for n in numbers])


def test_a_transform_is_applied() -> None:
    dataset = Stored(list(graphs().values()), AddSelfLoops())
    assert in_degree_histogram(dataset).tolist() == expected_of(list(dataset))


def test_one_stored_graph_and_batches() -> None:
    graph = some_graphs()[-1]
    assert in_degree_histogram(Stored([graph])).tolist() == [3, 0, 0, 1]
    assert in_degree_histogram([Batch.from_data_list([graph, graph])]).tolist() == [6, 0, 0, 2]
    assert in_degree_histogram([]).tolist() == [0]


def test_what_is_not_graphs() -> None:
    with pytest.raises(TypeError, match="graphs is a Data; it must be the training graphs"):
        in_degree_histogram(some_graphs()[0])
    with pytest.raises(TypeError, match="graphs is a int"):
        in_degree_histogram(3)
    with pytest.raises(ValueError, match="no edge_index"):
        in_degree_histogram([Data(num_nodes=3)])
