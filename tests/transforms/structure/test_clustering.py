"""AddClusteringCoefficientSE against networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddClusteringCoefficientSE

INSTANCES = [AddClusteringCoefficientSE(), AddClusteringCoefficientSE(dense_limit=7)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddClusteringCoefficientSE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=12), st.sampled_from([500, 3]))
def test_as_networkx(data: Data, dense_limit: int) -> None:
    encoding = AddClusteringCoefficientSE(dtype="float64", dense_limit=dense_limit)
    encoded = encoding(data).clustering_coefficient_se[:, 0]
    simple = networkx.Graph(to_networkx(data, to_undirected=True, remove_self_loops=True))
    wanted = networkx.clustering(simple)
    np.testing.assert_allclose(encoded, [wanted[node] for node in simple], atol=1e-12)


def test_closed_forms() -> None:
    for simple, coefficient in (
        (networkx.complete_graph(6), 1.0),
        (networkx.star_graph(5), 0.0),
        (networkx.circulant_graph(12, [1, 2]), 0.5),  # the ring of Watts and Strogatz
    ):
        encoded = AddClusteringCoefficientSE()(from_networkx(simple)).clustering_coefficient_se
        assert encoded.flatten().tolist() == [coefficient] * len(simple)


def test_a_large_graph_with_a_hub() -> None:
    wheel = networkx.wheel_graph(20_001)  # the hub joins all nodes of a cycle
    encoded = AddClusteringCoefficientSE()(from_networkx(wheel)).clustering_coefficient_se[:, 0]
    assert encoded[0] == pytest.approx(2 / 19_999)
    np.testing.assert_allclose(encoded[1:], 2 / 3, atol=1e-6)


def test_weights_do_not_count_but_a_weight_of_0_is_no_edge() -> None:
    triangle = graph(3, [(0, 1), (1, 2), (2, 0)], [0.5, 2.0, 0.0])
    assert not AddClusteringCoefficientSE()(triangle).clustering_coefficient_se.any()
