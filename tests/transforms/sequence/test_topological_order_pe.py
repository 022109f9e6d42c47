"""AddTopologicalOrderPE: generation, depth and height as capped categories."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.sequence import AddTopologicalOrderPE

INSTANCES = [AddTopologicalOrderPE(), AddTopologicalOrderPE(2, dense_limit=7)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddTopologicalOrderPE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=10, directed=True))
def test_generations_of_networkx(data: Data) -> None:
    wanted = networkx.DiGraph()
    wanted.add_nodes_from(range(data.num_nodes))
    wanted.add_edges_from(data.edge_index.t().tolist())
    components = networkx.condensation(wanted)
    values = AddTopologicalOrderPE(50)(data).topological_order_pe
    for column, directed in [(0, components), (2, components.reverse())]:
        for number, generation in enumerate(networkx.topological_generations(directed)):
            for component in generation:
                members = list(components.nodes[component]["members"])
                assert bool((values[members, column] == number).all())


def test_columns_and_cap() -> None:
    data = graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], directed=True)
    values = AddTopologicalOrderPE()(data).topological_order_pe
    assert values.tolist() == [[0, 0, 3], [1, 1, 2], [2, 1, 1], [3, 2, 0]]
    assert torch.equal(AddTopologicalOrderPE(2)(data).topological_order_pe, values.clamp(max=2))


def test_an_undirected_graph_has_zeros() -> None:
    assert not AddTopologicalOrderPE()(zoo()["path"]).topological_order_pe.any()


def test_an_edge_of_weight_0_is_none() -> None:
    data = graph(3, [(0, 1), (1, 2)], [0.0, 1.0], directed=True)
    assert AddTopologicalOrderPE()(data).topological_order_pe[:, 0].tolist() == [0, 0, 1]


def test_graphs_of_a_batch_do_not_mix() -> None:
    path = graph(3, [(0, 1), (1, 2)], directed=True)
    batch = AddTopologicalOrderPE()(Batch.from_data_list([path, graph(3), path]))
    assert batch.topological_order_pe[:, 0].tolist() == [0, 1, 2, 0, 0, 0, 0, 1, 2]


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="maximum is 0"):
        AddTopologicalOrderPE(0)
    with pytest.raises(ValueError, match=r"maximum is 10+; it must be an integer from 1 to"):
        AddTopologicalOrderPE(10**30)
