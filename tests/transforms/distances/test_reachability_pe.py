"""AddReachabilityPE: networkx, DAGs, components."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms.distances import AddReachabilityPE, AddShortestPathPE

INSTANCES = [AddReachabilityPE(), AddReachabilityPE("reaches", dtype="float64")]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddReachabilityPE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=20, directed=True))
def test_both_channels_are_those_of_networkx(data: Data) -> None:
    n = data.num_nodes
    digraph = networkx.DiGraph(data.edge_index.t().tolist())
    digraph.add_nodes_from(range(n))
    encoded = AddReachabilityPE()(data).reachability_pe.view(n, n, 2)
    for node in range(n):
        descendants, ancestors = (
            set(encoded[node, :, channel].nonzero().flatten().tolist()) for channel in (0, 1)
        )
        assert descendants == networkx.descendants(digraph, node) | {node}
        assert ancestors == networkx.ancestors(digraph, node) | {node}


@pytest.mark.parametrize("name", zoo())
def test_agrees_with_distances(name: str) -> None:
    encoded = AddShortestPathPE(100)(AddReachabilityPE()(zoo()[name]))
    reached = encoded.shortest_path_pe <= 100
    assert torch.equal(encoded.reachability_pe, reached.float().expand(-1, 2))  # undirected


def test_an_edge_of_weight_zero_is_none() -> None:
    data = graph(3, [(0, 1), (1, 2)], [1.0, 0.0], directed=True)
    forward, backward = AddReachabilityPE()(data).reachability_pe.view(3, 3, 2).unbind(-1)
    assert forward.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert torch.equal(forward.mT, backward)


def test_a_graph_too_large_for_the_memory_is_refused() -> None:
    with pytest.raises(ValueError, match=r"20,000 nodes .* take AddTopologicalOrderPE instead"):
        AddReachabilityPE()(graph(20_000))
