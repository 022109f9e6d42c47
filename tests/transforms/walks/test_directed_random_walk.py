"""AddDirectedRandomWalkPE: powers by numpy, networkx, and what sinks and sources do."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.walks import AddDirectedRandomWalkPE, AddPersonalizedPageRankPE

INSTANCES = [
    AddDirectedRandomWalkPE(3),
    AddDirectedRandomWalkPE(3, restart=0.3),
    AddDirectedRandomWalkPE(3, level="pair", restart=0.05),
    AddDirectedRandomWalkPE(1, level="pair"),
    AddDirectedRandomWalkPE(4, node_values="returns"),
    AddDirectedRandomWalkPE(2, node_values="returns", restart=0.3),
    AddDirectedRandomWalkPE(5, restart=0.5, dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddDirectedRandomWalkPE) -> None:
    check_encoding(encoding)


def transition(data: Data, reverse: bool) -> np.ndarray:
    """One edge at a time; a loop where no edge leads on."""
    adjacency = adjacency_matrix(data)
    if reverse:
        adjacency = adjacency.T
    adjacency = adjacency + np.diag(~adjacency.any(axis=1))
    return adjacency / adjacency.sum(1, keepdims=True)


def matrices(data: Data, walk_length: int, restart: float | None) -> np.ndarray:
    """``[n, n, channels]``"""
    channels = []
    for reverse in (False, True):
        step = transition(data, reverse)
        channels += [np.linalg.matrix_power(step, k + 1) for k in range(walk_length)]
        if restart is not None:
            identity = np.eye(len(step))
            channels.append(restart * np.linalg.inv(identity - (1 - restart) * step))
    return np.stack(channels, axis=-1)


@given(
    random_graphs(max_nodes=12, directed=True),
    st.integers(1, 6),
    st.none() | st.floats(0.01, 1.0),
)
def test_the_definition_on_any_graph(data: Data, walk_length: int, restart: float | None) -> None:
    n = data.num_nodes
    wanted = matrices(data, walk_length, restart)

    def encode(**settings) -> np.ndarray:
        encoding = AddDirectedRandomWalkPE(
            walk_length, restart=restart, dtype="float64", **settings
        )
        return encoding(data).directed_random_walk_pe.numpy()

    pairs = encode(level="pair").reshape(n, n, -1)
    np.testing.assert_allclose(pairs, wanted, atol=1e-12)
    np.testing.assert_allclose(pairs.sum(1), 1.0, atol=1e-12)
    np.testing.assert_allclose(encode(), wanted.sum(0), atol=1e-11)
    returns = encode(node_values="returns")
    np.testing.assert_allclose(returns, wanted[range(n), range(n)], atol=1e-12)


def test_pagerank_rows_are_those_of_networkx() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (1, 4)]  # no sink, no source but 0
    encoding = AddDirectedRandomWalkPE(1, level="pair", restart=0.2, dtype="float64")
    rows = encoding(graph(5, edges, directed=True)).directed_random_walk_pe.view(5, 5, 4)
    forward = networkx.DiGraph(edges)
    for channel, digraph in ((1, forward), (3, forward.reverse())):
        for node in range(5):
            ranks = networkx.pagerank(
                digraph, 0.8, personalization={node: 1.0}, tol=1e-13, max_iter=999
            )
            wanted = [ranks[other] for other in range(5)]
            np.testing.assert_allclose(rows[node, :, channel], wanted, atol=1e-9)


def test_the_published_preset_has_eight_channels() -> None:
    (field,) = AddDirectedRandomWalkPE(3, restart=0.05).fields()
    assert (field.level, field.width) == ("node", 8)


def test_a_path_ends_in_its_sink_and_comes_from_its_source() -> None:
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    encoded = AddDirectedRandomWalkPE(2)(data).directed_random_walk_pe
    assert encoded.tolist() == [[0, 0, 2, 3], [1, 0, 1, 0], [2, 3, 0, 0]]
    encoded = AddDirectedRandomWalkPE(2, node_values="returns")(data).directed_random_walk_pe
    assert encoded.tolist() == [[0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]


def test_nodes_without_edges_stay_where_they_are() -> None:
    pairs = AddDirectedRandomWalkPE(2, level="pair", restart=0.1)(graph(3))
    identity = torch.eye(3).view(9, 1).expand(9, 6)
    torch.testing.assert_close(pairs.directed_random_walk_pe, identity)
    assert AddDirectedRandomWalkPE(2)(graph(0)).directed_random_walk_pe.shape == (0, 4)
    connected = AddDirectedRandomWalkPE(3)(graph(2, [(0, 1)], directed=True))
    beside = AddDirectedRandomWalkPE(3)(graph(3, [(0, 1)], directed=True))
    assert torch.equal(beside.directed_random_walk_pe[:2], connected.directed_random_walk_pe)


def test_reversing_all_edges_swaps_the_directions() -> None:
    data = graph(5, [(0, 1), (0, 1), (1, 2), (2, 2), (2, 3), (3, 0)], directed=True)
    other = data.clone()
    other.edge_index = data.edge_index.flip(0)
    for settings in ({}, {"level": "pair"}, {"node_values": "returns"}):
        encoding = AddDirectedRandomWalkPE(3, restart=0.1, **settings)
        forward, backward = encoding(data).directed_random_walk_pe.chunk(2, dim=1)
        swapped = encoding(other).directed_random_walk_pe
        assert torch.equal(torch.cat([backward, forward], dim=1), swapped)


def test_parallel_edges_add_up_and_a_factor_of_the_weights_changes_nothing() -> None:
    encoding = AddDirectedRandomWalkPE(2, level="pair")
    parallel = encoding(graph(3, [(0, 1), (0, 1), (0, 2)], directed=True))
    weighted = encoding(graph(3, [(0, 1), (0, 2)], [6.0, 3.0], directed=True))
    assert parallel.directed_random_walk_pe[1, 0] == pytest.approx(2 / 3)
    torch.testing.assert_close(parallel.directed_random_walk_pe, weighted.directed_random_walk_pe)


def test_an_edge_of_weight_zero_leads_nowhere() -> None:
    data = graph(2, [(0, 1)], [0.0], directed=True)
    for dense_limit in (500, 1):
        encoded = AddDirectedRandomWalkPE(2, dense_limit=dense_limit)(data)
        assert torch.equal(encoded.directed_random_walk_pe, torch.ones(2, 4))


def test_a_large_graph() -> None:
    data = from_networkx(networkx.gnp_random_graph(700, 0.01, seed=0))
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]  # a DAG
    for settings in ({"restart": 0.1}, {"node_values": "returns"}):
        sparse = AddDirectedRandomWalkPE(4, dtype="float64", **settings)
        dense = AddDirectedRandomWalkPE(4, dtype="float64", dense_limit=1000, **settings)
        torch.testing.assert_close(
            sparse(data.clone()).directed_random_walk_pe,
            dense(data.clone()).directed_random_walk_pe,
            rtol=0,
            atol=1e-7,
        )


def test_pairs_and_returns_with_restart_have_only_a_dense_form() -> None:
    data = graph(20_000)
    for settings in ({"level": "pair"}, {"node_values": "returns", "restart": 0.1}):
        with pytest.raises(ValueError, match=r"20,000 nodes .* take level='node' with node_values"):
            AddDirectedRandomWalkPE(4, **settings)(data)


def test_pagerank_channels_are_those_of_the_pagerank_encoding() -> None:
    data = graph(4, [(0, 1), (1, 2), (1, 3)], directed=True)
    walks = AddDirectedRandomWalkPE(2, level="pair", restart=0.1)
    ranks = AddPersonalizedPageRankPE(0.1, direction="both", sinks="loop")
    encoded = ranks(walks(Batch.from_data_list([data, data])))
    assert torch.equal(encoded.directed_random_walk_pe[:, [2, 5]], encoded.personalized_pagerank_pe)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"walk_length": 0}, "walk_length is 0"),
        ({"level": "edge"}, "level is 'edge'"),
        ({"node_values": "sum"}, "node_values is 'sum'"),
        ({"restart": 0.0}, "restart is 0.0"),
        ({"restart": 2}, "restart is 2; a probability is at most 1"),
        ({"level": "pair", "attr_name": None}, "cannot be concatenated to x"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddDirectedRandomWalkPE(**{"walk_length": 2, **settings})
