"""AddDegreeSE: neighbours, not edges; 0 and the largest degree are categories; those above are counted."""

from __future__ import annotations

import warnings

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddDegreeSE

INSTANCES = [
    AddDegreeSE(3),
    AddDegreeSE(60, dense_limit=7),
    AddDegreeSE(60, directions="undirected", dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddDegreeSE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=20, directed=True), st.sampled_from([500, 3]))
def test_in_and_out_degree_as_networkx(data: Data, dense_limit: int) -> None:
    encoded = AddDegreeSE(20, dense_limit=dense_limit)(data).degree_se
    directed = to_networkx(data, remove_self_loops=True)
    directed = networkx.DiGraph(directed)  # parallel edges are one
    assert encoded[:, 0].tolist() == [directed.in_degree(node) for node in directed]
    assert encoded[:, 1].tolist() == [directed.out_degree(node) for node in directed]


@given(random_graphs(max_nodes=20, directed=True), st.sampled_from([500, 3]))
def test_undirected_reading(data: Data, dense_limit: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is what was asked for
        encoding = AddDegreeSE(20, directions="undirected", dense_limit=dense_limit)
        encoded = encoding(data).degree_se
    undirected = networkx.Graph(to_networkx(data, remove_self_loops=True))
    assert encoded[:, 0].tolist() == [undirected.degree(node) for node in undirected]


@pytest.mark.parametrize("dense_limit", [500, 3])
def test_loops_parallel_edges_and_weight_0(dense_limit: int) -> None:
    encoding = AddDegreeSE(5, dense_limit=dense_limit)
    data = graph(4, [(0, 0), (0, 1), (0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0, 0.0, 0.25])
    assert encoding(data).degree_se.tolist() == [[1, 1], [1, 1], [1, 1], [1, 1]]


@pytest.mark.parametrize("dense_limit", [500, 3])
def test_b18_the_largest_degree_has_a_row_of_its_own(dense_limit: int) -> None:
    """A star with 7 leaves and max_degree 7: 8 categories, no warning."""
    encoding = AddDegreeSE(7, dense_limit=dense_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = encoding(zoo()["star (one eigenvalue many times)"]).degree_se
    assert encoded[0].tolist() == [7, 7]
    assert encoding.fields()[0].categories == 8
    table = torch.nn.Embedding(encoding.fields()[0].categories, 4)
    assert table(encoded).shape == (8, 2, 4)


@pytest.mark.parametrize("dense_limit", [500, 3])
def test_b18_degrees_above_are_clamped_and_counted(dense_limit: int) -> None:
    batch = Batch.from_data_list([graph(8), zoo()["star (one eigenvalue many times)"]])
    message = r"1 nodes \(the first in graph 1\) have degrees up to 7, above max_degree=4"
    with pytest.warns(UserWarning, match=message):
        encoded = AddDegreeSE(4, dense_limit=dense_limit)(batch).degree_se
    assert encoded.max() == 4


@pytest.mark.parametrize("directions", ["in_out", "undirected"])
def test_b18_the_size_is_learnt_from_a_dataset(directions: str) -> None:
    graphs = [
        graph(3),
        graph(5, [(0, 1), (2, 1), (3, 1), (1, 4)], directed=True),
        graph(5, [(0, 0), (0, 1), (0, 1), (0, 2), (0, 2)]),
    ]
    encoding = AddDegreeSE.for_dataset(graphs, directions=directions)
    largest = 3 if directions == "in_out" else 4
    assert encoding == AddDegreeSE(largest, directions=directions)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in graphs:
            encoding(data)


def test_a_dataset_without_edges_has_degree_0() -> None:
    assert AddDegreeSE.for_dataset([graph(3), graph(0)], attr_name="d") == AddDegreeSE(1, "d")


def test_isolated_nodes_are_category_0() -> None:
    encoded = AddDegreeSE(4)(graph(3, [(0, 1)])).degree_se
    assert encoded.tolist() == [[1, 1], [1, 1], [0, 0]]
    assert encoded.dtype == torch.int64


def test_a_large_graph() -> None:
    data = from_networkx(networkx.random_regular_graph(4, 3000, seed=0))
    assert (AddDegreeSE(10)(data).degree_se == 4).all()


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="max_degree is 0"):
        AddDegreeSE(0)
    with pytest.raises(ValueError, match=r"max_degree is 10+; it must be an integer from 1 to"):
        AddDegreeSE(10**30)
    with pytest.raises(ValueError, match="directions is 'in'; it must be"):
        AddDegreeSE(3, directions="in")
