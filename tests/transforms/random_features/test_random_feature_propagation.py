"""AddRandomFeaturePropagation: the trajectory, its columns, and draws that depend on the graph alone."""

from __future__ import annotations

import dataclasses

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_dense_adj

import graphpe
from graphpe.testing import check_encoding
from graphpe.transforms.random_features import AddRandomFeaturePropagation

INSTANCES = [
    AddRandomFeaturePropagation(4, 3, operator="sym", normalization="qr", trajectories=2),
    AddRandomFeaturePropagation(
        2, 5, operator="laplacian", distribution="rademacher", seed=5, dense_limit=7
    ),
    AddRandomFeaturePropagation(2, 3, operator="walk", normalization="qr"),
    AddRandomFeaturePropagation(1, 3, dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddRandomFeaturePropagation) -> None:
    check_encoding(encoding)


def trajectories(encoding: AddRandomFeaturePropagation, data: Data) -> np.ndarray:
    """``[trajectories, steps + 1, n, channels]``, float64."""
    double = dataclasses.replace(encoding, dtype="float64")
    value = double(data).random_feature_propagation_pe
    shape = (data.num_nodes, encoding.trajectories, encoding.steps + 1, encoding.channels)
    return value.view(shape).permute(1, 2, 0, 3).numpy()


@given(random_graphs(max_nodes=20, weighted=False), st.sampled_from([500, 3]))
def test_columns_are_trajectories_of_normalised_products(data: Data, dense_limit: int) -> None:
    """GCN's operator by PyG's dense adjacency and numpy."""
    n = data.num_nodes
    adjacency = to_dense_adj(data.edge_index, max_num_nodes=n)[0].double().numpy() + np.eye(n)
    degree = adjacency.sum(1)
    matrix = adjacency / np.sqrt(degree[:, None] * degree[None])
    encoding = AddRandomFeaturePropagation(3, 4, trajectories=2, dense_limit=dense_limit)
    for features in trajectories(encoding, data):
        for step in range(4):
            wanted = matrix @ features[step]
            norm = np.linalg.norm(wanted, axis=0)
            if (norm > 1e-8 * np.linalg.norm(features[step], axis=0)).all():
                np.testing.assert_allclose(features[step + 1], wanted / norm, atol=1e-9)


def test_qr_is_orthonormal_in_each_graph_of_a_batch() -> None:
    encoding = AddRandomFeaturePropagation(4, 6, normalization="qr", trajectories=3)
    graphs = [data for data in zoo().values() if data.num_nodes >= 8]
    for data in encoding(Batch.from_data_list(graphs)).to_data_list():
        for features in trajectories(encoding, data):
            for step in features[1:]:
                gram = step.T @ step
                np.testing.assert_allclose(gram, np.diag(np.diag(gram).round()), atol=1e-6)


def test_raw_features_are_draws_of_the_distribution() -> None:
    data = graph(500, [(i, i + 1) for i in range(499)])
    normal = trajectories(AddRandomFeaturePropagation(8, 1, trajectories=2), data)[:, 0]
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    assert abs(np.corrcoef(normal[0].ravel(), normal[1].ravel())[0, 1]) < 0.07
    signs = trajectories(AddRandomFeaturePropagation(8, 1, distribution="rademacher"), data)[0, 0]
    assert set(np.unique(signs)) == {-1.0, 1.0}


def test_seed_edges_and_weights_change_the_draws() -> None:
    edges = [(0, 1), (1, 2), (2, 3)]
    encoding = AddRandomFeaturePropagation(4, 1)
    draws = [
        trajectories(encoding, graph(4, edges)),
        trajectories(dataclasses.replace(encoding, seed=1), graph(4, edges)),
        trajectories(encoding, graph(4, edges[:2])),
        trajectories(encoding, graph(4, edges, [1.0, 1.0, 2.0])),
    ]
    for number, first in enumerate(draws):
        for second in draws[:number]:
            assert not np.isclose(first[0, 0], second[0, 0]).any()


def test_the_order_of_edges_changes_no_draw() -> None:
    data = graph(5, [(0, 1), (1, 2), (3, 4), (0, 4)], [0.3, 1.7, 2.2, 0.9])
    order = torch.randperm(data.num_edges)
    shuffled = Data(
        edge_index=data.edge_index[:, order], edge_weight=data.edge_weight[order], num_nodes=5
    )
    encoding = AddRandomFeaturePropagation(4, 3)
    np.testing.assert_allclose(
        trajectories(encoding, shuffled), trajectories(encoding, data), atol=1e-12
    )


def test_more_trajectories_and_steps_keep_those_before() -> None:
    data = zoo()["hypercube"]
    few = trajectories(AddRandomFeaturePropagation(3, 2, trajectories=2), data)
    many = trajectories(AddRandomFeaturePropagation(3, 4, trajectories=3), data)
    np.testing.assert_allclose(many[:2, :3], few, atol=1e-12)


def test_only_walks_follow_directions() -> None:
    directed = graph(3, [(0, 1), (1, 2)], directed=True)
    with pytest.warns(UserWarning, match="directed and were symmetrised"):
        symmetrised = trajectories(AddRandomFeaturePropagation(2, 3, operator="sym"), directed)
    assert symmetrised[0, 3].any()
    refuse = AddRandomFeaturePropagation(2, 3, directed="error")
    with pytest.raises(ValueError, match="graph 0 is directed"):
        refuse(directed)
    walks = trajectories(dataclasses.replace(refuse, operator="walk"), directed)
    assert not walks[0, 3].any()  # no walk of three steps


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"channels": 0}, "channels is 0"),
        ({"steps": 0}, "steps is 0"),
        ({"trajectories": -1}, "trajectories is -1"),
        ({"operator": "gcn"}, "operator is 'gcn'"),
        ({"normalization": "l1"}, "normalization is 'l1'"),
        ({"distribution": "uniform"}, "distribution is 'uniform'"),
        ({"seed": -1}, "seed is -1"),
        ({"directed": "keep"}, "directed is 'keep'"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddRandomFeaturePropagation(**{"channels": 2, "steps": 2, **settings})


@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_a_single_float64_feature_has_the_same_bytes_in_a_batch(normalization: str) -> None:
    encoding = AddRandomFeaturePropagation(1, 5, normalization=normalization, dtype="float64")
    graphs = [from_networkx(networkx.gnp_random_graph(25, 0.3, seed=seed)) for seed in range(8)]
    for got, data in zip(graphpe.encode(graphs, [encoding], progress=False), graphs, strict=True):
        expected = encoding(data).random_feature_propagation_pe
        assert torch.equal(got.random_feature_propagation_pe, expected)
