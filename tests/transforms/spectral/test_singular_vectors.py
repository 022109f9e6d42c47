"""AddSingularVectorPE: scipy, the product of the factors, shared signs, repeated and zero values."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.linalg
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.spectral import AddSingularVectorPE

INSTANCES = [
    AddSingularVectorPE(1),
    AddSingularVectorPE(4),
    AddSingularVectorPE(20, dtype="float64"),
    AddSingularVectorPE(3, dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddSingularVectorPE) -> None:
    check_encoding(encoding)


def factors(data: Data, k: int, **settings) -> tuple[np.ndarray, np.ndarray, Data]:
    encoded = AddSingularVectorPE(k, dtype="float64", **settings)(data.clone())
    left, right = encoded.singular_vector_pe.numpy().reshape(-1, 2, k).transpose(1, 0, 2)
    return left, right, encoded


@given(random_graphs(max_nodes=14, directed=True), st.integers(1, 20))
def test_the_product_is_the_best_approximation(data: Data, k: int) -> None:
    matrix = adjacency_matrix(data)
    values = np.zeros(max(k, len(matrix)))
    values[: len(matrix)] = scipy.linalg.svdvals(matrix)
    left, right, encoded = factors(data, k)
    tolerance = 1e-11 * max(1.0, values[0])
    np.testing.assert_allclose(encoded.singular_value[0], values[:k], atol=tolerance)
    # the columns are orthogonal, as long as the value is large
    for factor in (left, right):
        wanted = np.diag(encoded.singular_value[0])
        np.testing.assert_allclose(factor.T @ factor, wanted, atol=tolerance)
    rest = np.linalg.norm(matrix - left @ right.T, 2)
    assert rest == pytest.approx(values[k] if k < len(values) else 0.0, abs=tolerance)
    count = int(encoded.singular_vector_count)
    assert count == min(k, np.linalg.matrix_rank(matrix, tol=1e-11 * values[0]))
    assert not encoded.singular_value[0, count:].any()
    assert not left[:, count:].any()
    assert not right[:, count:].any()


def test_one_edge() -> None:
    """From node 0 to node 1 only: a source and a target."""
    encoded = AddSingularVectorPE(2)(graph(3, [(0, 1)], directed=True))
    assert encoded.singular_vector_pe.tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert encoded.singular_value.tolist() == [[1, 0]]
    assert encoded.singular_vector_count.tolist() == [[1]]
    assert encoded.singular_space_cut.tolist() == [[0]]


def test_signs_follow_the_nodes() -> None:
    """Both factors, exactly and not only up to a sign, for any order of the nodes."""
    generator = np.random.default_rng(0)
    for _ in range(20):
        n = int(generator.integers(4, 12))
        edges = [(u, v) for u in range(n) for v in range(n) if generator.random() < 0.3]
        weights = generator.uniform(0.5, 2.0, len(edges)).tolist()
        order = generator.permutation(n)
        one = AddSingularVectorPE(n)(graph(n, edges, weights, directed=True))
        number = np.argsort(order)
        renumbered = [(int(number[u]), int(number[v])) for u, v in edges]
        other = AddSingularVectorPE(n)(graph(n, renumbered, weights, directed=True))
        torch.testing.assert_close(
            one.singular_vector_pe[order], other.singular_vector_pe, rtol=0, atol=1e-5
        )


def test_reversing_all_edges_swaps_the_factors_up_to_their_common_sign() -> None:
    edges, weights = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 0), (1, 4)], [1, 2, 0.5, 3, 1.5, 0.7]
    data = graph(5, edges, weights, directed=True)
    other = data.clone()
    other.edge_index = data.edge_index.flip(0)
    left, right, _ = factors(data, 3)
    swapped_right, swapped_left, _ = factors(other, 3)
    signs = np.sign((left * swapped_left).sum(0))
    np.testing.assert_allclose(left, signs * swapped_left, atol=1e-12)
    np.testing.assert_allclose(right, signs * swapped_right, atol=1e-12)


def test_repeated_values_leave_the_product_alone_and_a_cut_is_flagged() -> None:
    """A directed cycle is a permutation: all singular values are 1."""
    cycle = graph(6, [(i, (i + 1) % 6) for i in range(6)], directed=True)
    left, right, encoded = factors(cycle, 6)
    np.testing.assert_allclose(left @ right.T, adjacency_matrix(cycle), atol=1e-14)
    assert encoded.singular_value[0].tolist() == pytest.approx([1.0] * 6)
    assert encoded.singular_space_cut.tolist() == [[0]]
    _, _, encoded = factors(cycle, 3)
    assert encoded.singular_space_cut.tolist() == [[1]]
    assert encoded.singular_vector_count.tolist() == [[3]]
    # ... but not among the zeros, whose columns are zero in any basis
    _, _, encoded = factors(graph(6, [(0, 1), (0, 1), (2, 3)], directed=True), 3)
    assert encoded.singular_value[0].tolist() == [2.0, 1.0, 0.0]
    assert encoded.singular_space_cut.tolist() == [[0]]


def test_fewer_nodes_than_columns_and_no_edges() -> None:
    batch = Batch.from_data_list([zoo()[name] for name in ("no nodes", "one node", "no edges")])
    encoded = AddSingularVectorPE(4)(batch)
    assert encoded.singular_vector_pe.shape == (6, 8)
    assert not encoded.singular_vector_pe.any()
    assert not encoded.singular_value.any()
    assert encoded.singular_vector_count.tolist() == [[0], [0], [0]]
    encoded = AddSingularVectorPE(4)(zoo()["one node with a loop"])
    assert encoded.singular_vector_pe.tolist() == [[1, 0, 0, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize("k", [3, 8])
def test_a_large_graph_has_the_values_of_the_dense_matrix(k: int) -> None:
    digraph = networkx.gnp_random_graph(600, 0.01, seed=1, directed=True)
    edges = torch.tensor(list(digraph.edges)).t()
    data = Data(edge_index=edges, num_nodes=600)
    left, right, encoded = factors(data, k)
    dense_left, dense_right, dense = factors(data, k, dense_limit=600)
    torch.testing.assert_close(encoded.singular_value, dense.singular_value, rtol=0, atol=1e-9)
    np.testing.assert_allclose(left, dense_left, atol=1e-6)
    np.testing.assert_allclose(right, dense_right, atol=1e-6)
    again = AddSingularVectorPE(k, dtype="float64")(data.clone())
    assert torch.equal(again.singular_vector_pe, encoded.singular_vector_pe)


def test_a_large_graph_of_low_rank() -> None:
    star = from_networkx(networkx.star_graph(700))
    _, _, encoded = factors(star, 5)
    value = 700**0.5
    assert encoded.singular_value[0].tolist() == pytest.approx([value, value, 0, 0, 0])
    assert encoded.singular_vector_count.tolist() == [[2]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"value_name": "a", "count_name": "a"}, "two fields called 'a'"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddSingularVectorPE(**{"k": 2, **settings})
