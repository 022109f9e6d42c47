"""AddShortestPathPE: networkx, and categories that are never mixed up."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms.distances import AddShortestPathPE

INSTANCES = [
    AddShortestPathPE(),
    AddShortestPathPE(2),
    AddShortestPathPE(2.5, weighted=True),
    AddShortestPathPE(direction="backward"),
    AddShortestPathPE(3, direction="both"),
    AddShortestPathPE(2.5, weighted=True, direction="both"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddShortestPathPE) -> None:
    check_encoding(encoding)


def lengths(data: Data, weighted: bool) -> dict[int, dict[int, float]]:
    """By networkx, which takes the lightest of parallel edges."""
    multigraph = networkx.MultiDiGraph()
    multigraph.add_nodes_from(range(data.num_nodes))
    weights = data.get("edge_weight")
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        weight = 1.0 if weights is None else float(weights[edge])
        multigraph.add_edge(source, target, weight=weight)
    return dict(
        networkx.all_pairs_dijkstra_path_length(multigraph, weight="weight" if weighted else None)
    )


@given(random_graphs(max_nodes=12, directed=True), st.integers(1, 6))
def test_hops_are_those_of_networkx(data: Data, cap: int) -> None:
    encoded = AddShortestPathPE(cap)(data).shortest_path_pe.view(data.num_nodes, -1)
    wanted = lengths(data, weighted=False)
    for u in range(data.num_nodes):
        for v in range(data.num_nodes):
            assert encoded[u, v] == (min(wanted[u][v], cap) if v in wanted[u] else cap + 1)


@given(random_graphs(max_nodes=12, directed=True), st.sampled_from([0.5, 3.0, 100.0]))
def test_weighted_distances_are_those_of_networkx(data: Data, cap: float) -> None:
    encoded = AddShortestPathPE(cap, weighted=True, dtype="float64")(data).shortest_path_pe
    encoded = encoded.view(data.num_nodes, data.num_nodes, 2)
    wanted = lengths(data, weighted=True)
    for u in range(data.num_nodes):
        for v in range(data.num_nodes):
            distance, is_apart = encoded[u, v].tolist()
            assert is_apart == (v not in wanted[u])
            assert distance == pytest.approx(min(wanted[u].get(v, cap), cap), rel=1e-12)


def test_unreachable_is_neither_0_nor_the_cap() -> None:
    data = graph(6, [(0, 1), (1, 2), (2, 3), (3, 4)])
    row = AddShortestPathPE(3)(data).shortest_path_pe.view(6, 6)[0]
    assert row.tolist() == [0, 1, 2, 3, 3, 4]
    (field,) = AddShortestPathPE(3).fields()
    assert (field.dtype, field.categories, field.level) == (torch.int64, 5, "pair")


def test_paths_follow_directed_edges_from_the_first_node() -> None:
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    rows = AddShortestPathPE(9)(data).shortest_path_pe.view(3, 3)
    assert rows.tolist() == [[0, 1, 2], [10, 0, 1], [10, 10, 0]]


def test_of_parallel_edges_the_shortest_counts_and_weight_0_is_no_edge() -> None:
    edges, weights = [(0, 1), (0, 1), (1, 2), (0, 2)], [5.0, 2.0, 1.0, 0.0]
    data = graph(3, edges, weights, directed=True)
    distance = AddShortestPathPE(20, weighted=True)(data).shortest_path_pe.view(3, 3, 2)[0]
    assert distance.tolist() == [[0, 0], [2, 0], [3, 0]]
    assert AddShortestPathPE()(data).shortest_path_pe.view(3, 3)[0].tolist() == [0, 1, 2]


def test_weights_and_loops_change_no_hops() -> None:
    edges = [(0, 1), (1, 1), (1, 2), (2, 3), (0, 3)]
    weighted = graph(4, edges, [0.1, 5.0, 7.0, 1.0, 9.0])
    plain = graph(4, [edge for edge in edges if edge != (1, 1)])
    one, other = (AddShortestPathPE()(data).shortest_path_pe for data in (weighted, plain))
    assert torch.equal(one, other)


def test_weighted_without_weights_counts_edges() -> None:
    data = zoo()["parallel edges"]
    hops = AddShortestPathPE(20)(data).shortest_path_pe
    distance = AddShortestPathPE(20, weighted=True)(data).shortest_path_pe
    assert torch.equal(distance[:, :1], hops.float())


def test_a_long_path() -> None:
    data = from_networkx(networkx.path_graph(300))
    encoded = AddShortestPathPE(1000)(data).shortest_path_pe.view(300, 300)
    index = torch.arange(300)
    assert torch.equal(encoded, (index[:, None] - index).abs())


def test_b19_a_graph_too_large_for_pairs_is_told_what_it_would_take() -> None:
    with pytest.raises(ValueError, match=r"9,000 nodes .* GiB; take AddLandmarkDistancePE instead"):
        AddShortestPathPE()(graph(9000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cap": 0}, "cap is 0"),
        ({"cap": 10**9}, r"cap is 1000000000; it must be at most 1,048,576"),
        ({"cap": 1e9}, r"cap is 1000000000; it must be at most 1,048,576"),
        ({"cap": 10**30}, r"cap is 10+; it must be an integer from 1 to"),
        (
            {"cap": 10**39, "weighted": True},
            r"cap is 10+; it must be a finite number > 0 and < 1e\+38",
        ),
        ({"cap": 2.5}, "cap is 2.5; it must be an integer"),
        ({"cap": -1.0, "weighted": True}, "cap is -1.0"),
        ({"cap": float("inf"), "weighted": True}, "cap is inf"),
        ({"attr_name": None}, "cannot be concatenated to x"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddShortestPathPE(**settings)


@given(random_graphs(max_nodes=12, directed=True), st.booleans())
def test_backward_is_the_distance_from_the_second_to_the_first(data: Data, weighted: bool) -> None:
    n = data.num_nodes

    def encode(direction: str) -> torch.Tensor:
        encoding = AddShortestPathPE(3, weighted=weighted, direction=direction)
        return encoding(data.clone()).shortest_path_pe.view(n, n, -1)

    forward, backward = encode("forward"), encode("backward")
    assert torch.equal(backward, forward.transpose(0, 1))
    assert torch.equal(encode("both"), torch.cat([forward, backward], dim=-1))


def test_the_direction_is_checked() -> None:
    with pytest.raises(ValueError, match="direction is 'out'"):
        AddShortestPathPE(direction="out")


def test_the_largest_caps_are_told_from_no_path() -> None:
    data = graph(3, [(0, 1)], weights=[1e30])
    hops = AddShortestPathPE(2**20)(data).shortest_path_pe
    assert hops.flatten().tolist() == [0, 1, 2**20 + 1, 1, 0, 2**20 + 1, 2**20 + 1, 2**20 + 1, 0]
    lengths = AddShortestPathPE(10**30, weighted=True, dtype="float64")(data).shortest_path_pe
    assert lengths[:3].tolist() == [[0, 0], [pytest.approx(1e30), 0], [1e30, 1]]
