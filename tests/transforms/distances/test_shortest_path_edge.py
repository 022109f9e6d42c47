"""AddShortestPathEdgePE: positions lead along shortest paths, by a stated rule."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.distances import AddShortestPathEdgePE, AddShortestPathPE

INSTANCES = [AddShortestPathEdgePE(), AddShortestPathEdgePE(1)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddShortestPathEdgePE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=10, directed=True), st.integers(1, 5))
def test_positions_lead_along_a_shortest_path(data: Data, count: int) -> None:
    n = data.num_nodes
    paths = AddShortestPathEdgePE(count)(data).shortest_path_edge_pe.view(n, n, count)
    hops = AddShortestPathPE(50)(data).shortest_path_pe.view(n, n).tolist()
    edges = data.edge_index.t().tolist()
    for u, row in enumerate(paths.tolist()):
        for v, path in enumerate(row):
            length = hops[u][v] if hops[u][v] <= 50 else 0
            taken = [edge for edge in path if edge >= 0]
            assert path == taken + [-1] * (count - len(taken))
            assert len(taken) == min(length, count)
            at = u
            for edge in taken:
                assert edges[edge][0] == at
                at = edges[edge][1]
            if 0 < length <= count:
                assert at == v


def test_of_several_edges_the_first_is_taken() -> None:
    """Two ways around a square, and two parallel edges on one of them."""
    data = graph(4, [(2, 3), (0, 2), (0, 1), (0, 1), (1, 3)], directed=True)
    path = AddShortestPathEdgePE(2)(data).shortest_path_edge_pe.view(4, 4, 2)
    assert path[0, 3].tolist() == [1, 0]
    assert path[0, 1].tolist() == [2, -1]
    assert path[3, 0].tolist() == path[0, 0].tolist() == [-1, -1]


def test_numbers_of_nodes_do_not_matter() -> None:
    data = zoo()["hypercube"]
    order = torch.randperm(16)
    renumbered = Data(edge_index=order[data.edge_index], num_nodes=16)
    one, other = (
        AddShortestPathEdgePE(4)(each).shortest_path_edge_pe.view(16, 16, 4)
        for each in (data, renumbered)
    )
    assert torch.equal(other[order][:, order], one)


def test_loops_and_edges_of_weight_0_are_on_no_path_but_keep_their_positions() -> None:
    edges, weights = [(0, 0), (0, 1), (0, 1), (1, 2)], [1.0, 0.0, 9.0, 2.0]
    data = graph(3, edges, weights, directed=True)
    path = AddShortestPathEdgePE(2)(data).shortest_path_edge_pe.view(3, 3, 2)
    assert path[0, 2].tolist() == [2, 3]


def test_positions_count_from_the_first_edge_of_each_graph() -> None:
    graphs = [zoo()["triangle"], zoo()["triangle"], zoo()["path"], zoo()["no nodes"]]
    batch = AddShortestPathEdgePE(3)(Batch.from_data_list(graphs))
    alone = [AddShortestPathEdgePE(3)(data).shortest_path_edge_pe for data in graphs]
    assert torch.equal(batch.shortest_path_edge_pe, torch.cat(alone))


def test_edge_features_can_be_gathered_along_paths() -> None:
    """As Graphormer does: the mean of the features of the edges on the way."""
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    data.edge_attr = torch.tensor([[10.0], [20.0]])
    position = AddShortestPathEdgePE(5)(data).shortest_path_edge_pe
    is_edge = (position >= 0)[..., None]
    features = data.edge_attr[position.clamp(min=0)] * is_edge
    mean = features.sum(1) / is_edge.sum(1).clamp(min=1)
    assert mean.view(3, 3)[0].tolist() == [0, 10, 15]


def test_int32_edges() -> None:
    data = zoo()["path"]
    wanted = AddShortestPathEdgePE(3)(data).shortest_path_edge_pe
    narrow = Data(edge_index=data.edge_index.int(), num_nodes=data.num_nodes)
    assert torch.equal(AddShortestPathEdgePE(3)(narrow).shortest_path_edge_pe, wanted)


def test_b19_a_graph_too_large_for_pairs_is_told_what_it_would_take() -> None:
    with pytest.raises(ValueError, match=r"9,000 nodes .* GiB; take AddLandmarkDistancePE instead"):
        AddShortestPathEdgePE()(graph(9000))


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="max_distance is 0"):
        AddShortestPathEdgePE(0)
