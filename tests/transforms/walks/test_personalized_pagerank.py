"""AddPersonalizedPageRankPE: networkx, the definition, landmarks, and walks that are lost."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.walks import AddPersonalizedPageRankPE

INSTANCES = [
    AddPersonalizedPageRankPE(),
    AddPersonalizedPageRankPE(0.3, steps=5),
    AddPersonalizedPageRankPE(0.3, landmarks=3, strategy="farthest-point"),
    AddPersonalizedPageRankPE(steps=3, landmarks=9, strategy="random", dense_limit=7),
    AddPersonalizedPageRankPE(direction="both", sinks="loop"),
    AddPersonalizedPageRankPE(0.3, landmarks=4, direction="both", dense_limit=7),
    AddPersonalizedPageRankPE(0.3, landmarks=2, direction="backward", sinks="loop"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddPersonalizedPageRankPE) -> None:
    check_encoding(encoding)


def pagerank(
    data: Data, restart: float, reverse: bool = False, keep_at_sinks: bool = False
) -> np.ndarray:
    n = data.num_nodes
    adjacency = adjacency_matrix(data)
    if reverse:
        adjacency = adjacency.T
    if keep_at_sinks:
        adjacency = adjacency + np.diag(adjacency.sum(1) == 0)
    degree = adjacency.sum(1, keepdims=True)
    transition = np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
    return restart * np.linalg.inv(np.eye(n) - (1 - restart) * transition)


@given(random_graphs(max_nodes=15, directed=True), st.floats(0.01, 1.0))
def test_the_definition_on_any_graph(data: Data, restart: float) -> None:
    encoded = AddPersonalizedPageRankPE(restart, dtype="float64")(data).personalized_pagerank_pe
    np.testing.assert_allclose(encoded[:, 0], pagerank(data, restart).flatten(), atol=1e-13)


@given(
    random_graphs(max_nodes=15, directed=True),
    st.floats(0.01, 1.0),
    st.sampled_from(["lose", "loop"]),
)
def test_both_directions_and_sinks_on_any_graph(data: Data, restart: float, sinks: str) -> None:
    n = data.num_nodes
    settings = {"sinks": sinks, "dtype": "float64"}
    both = AddPersonalizedPageRankPE(restart, direction="both", **settings)(data.clone())
    both = both.personalized_pagerank_pe.view(n, n, 2)
    for channel, direction in enumerate(("forward", "backward")):
        wanted = pagerank(data, restart, direction == "backward", sinks == "loop")
        np.testing.assert_allclose(both[..., channel], wanted, atol=1e-13)
        one = AddPersonalizedPageRankPE(restart, direction=direction, **settings)(data.clone())
        assert torch.equal(one.personalized_pagerank_pe.view(n, n), both[..., channel])
    if sinks == "loop":
        np.testing.assert_allclose(both.sum(1), 1.0, atol=1e-13)


@pytest.mark.parametrize("dense_limit", [500, 1])
def test_landmarks_of_both_directions_keep_their_columns_apart(dense_limit: int) -> None:
    data = graph(2, [(0, 1)], directed=True)
    settings = {"landmarks": 3, "sinks": "loop", "dense_limit": dense_limit}
    both = AddPersonalizedPageRankPE(0.25, direction="both", **settings)(data)
    forward, backward = both.personalized_pagerank_pe.chunk(2, dim=1)
    assert not torch.cat([forward[:, 2:], backward[:, 2:]]).any()
    torch.testing.assert_close(forward[:, :2].sum(1), torch.ones(2))
    torch.testing.assert_close(backward[:, :2].sum(1), torch.ones(2))
    assert int((forward == 0).sum()) == int((backward == 0).sum()) == 3


def test_rows_are_those_of_networkx() -> None:
    wheel = networkx.wheel_graph(8)
    encoded = AddPersonalizedPageRankPE(0.2, dtype="float64")(from_networkx(wheel))
    rows = encoded.personalized_pagerank_pe.view(8, 8)
    for node in wheel:
        ranks = networkx.pagerank(wheel, 0.8, personalization={node: 1.0}, tol=1e-12, max_iter=999)
        np.testing.assert_allclose(rows[node], [ranks[other] for other in wheel], atol=1e-9)


@pytest.mark.parametrize("dense_limit", [500, 3])
@pytest.mark.parametrize("steps", [None, 4])
def test_landmarks_are_columns(steps: int | None, dense_limit: int) -> None:
    data = graph(6, [(0, 1), (1, 2), (1, 3), (1, 5), (3, 4), (3, 5)])
    pair = AddPersonalizedPageRankPE(0.1, steps=steps)(data).personalized_pagerank_pe.view(6, 6)
    node = AddPersonalizedPageRankPE(0.1, steps=steps, landmarks=2, dense_limit=dense_limit)(data)
    torch.testing.assert_close(node.personalized_pagerank_pe, pair[:, [1, 3]], atol=1e-7, rtol=0)


@pytest.mark.parametrize("dense_limit", [500, 1])
def test_landmarks_that_a_small_graph_lacks_are_zero(dense_limit: int) -> None:
    batch = Batch.from_data_list([zoo()["two nodes"], zoo()["path"], zoo()["no nodes"]])
    encoding = AddPersonalizedPageRankPE(landmarks=5, dense_limit=dense_limit)
    encoded = encoding(batch).personalized_pagerank_pe
    assert encoded.shape == (11, 5)
    assert encoded[:2, :2].all()
    assert not encoded[:2, 2:].any()


def test_isolated_nodes_and_sinks_lose_their_walks() -> None:
    data = graph(3, [(0, 1)], directed=True)
    rows = AddPersonalizedPageRankPE(0.25)(data).personalized_pagerank_pe.view(3, 3)
    assert rows.tolist() == [[0.25, 0.75 * 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]]
    limited = AddPersonalizedPageRankPE(0.25, steps=9)(data).personalized_pagerank_pe.view(3, 3)
    assert torch.equal(limited, rows)


def test_a_common_factor_of_the_weights_changes_nothing() -> None:
    edges, weights = [(0, 1), (1, 2), (2, 0), (2, 3)], [0.5, 2.0, 1.0, 4.0]
    one = AddPersonalizedPageRankPE()(graph(4, edges, weights)).personalized_pagerank_pe
    other = AddPersonalizedPageRankPE()(graph(4, edges, [7 * w for w in weights]))
    torch.testing.assert_close(one, other.personalized_pagerank_pe)
    unweighted = AddPersonalizedPageRankPE()(graph(4, edges)).personalized_pagerank_pe
    assert not torch.allclose(one, unweighted)


def test_a_large_graph_by_its_landmarks() -> None:
    data = from_networkx(networkx.connected_watts_strogatz_graph(3000, 6, 0.1, seed=0))
    encoded = AddPersonalizedPageRankPE(0.2, landmarks=4, dtype="float64")(data)
    columns = encoded.personalized_pagerank_pe
    # x = p e + (1−p) P x for each landmark, and the landmarks have the largest ranks
    degree = torch.bincount(data.edge_index[0]).double()
    source, target = data.edge_index
    onward = torch.zeros_like(columns).index_add_(0, source, columns[target]) / degree[:, None]
    rest = columns - 0.8 * onward
    landmarks = columns.argmax(0)
    assert torch.equal(degree[landmarks], degree.sort(descending=True).values[:4])
    rest[landmarks, torch.arange(4)] -= 0.2
    assert float(rest.abs().max()) < 1e-7
    with pytest.raises(ValueError, match=r"20,000 nodes .* set landmarks=16, say, or "):
        AddPersonalizedPageRankPE(0.2)(graph(20_000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"restart": 0}, "restart is 0"),
        ({"restart": 1.5}, "restart is 1.5"),
        ({"steps": 0}, "steps is 0"),
        ({"landmarks": 0}, "landmarks is 0"),
        ({"landmarks": 2, "strategy": "best"}, "strategy is 'best'"),
        ({"landmarks": 2, "seed": 0.5}, "seed is 0.5"),
        ({"direction": "out"}, "direction is 'out'"),
        ({"sinks": "keep"}, "sinks is 'keep'"),
        ({"attr_name": None}, "cannot be concatenated to x"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddPersonalizedPageRankPE(**settings)
