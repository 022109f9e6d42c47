"""Operators of dense stacks."""

from __future__ import annotations

import networkx
import pytest
import torch
from adjacency_zoo import adjacency, closed_forms, random_adjacency, random_stack
from hypothesis import given
from torch_geometric.utils import dense_to_sparse, get_laplacian, to_dense_adj

from graphpe.linalg import degree, laplacian, transition_matrix, without_self_loops

NORMALIZATIONS = ("none", "sym", "rw")


@pytest.mark.parametrize("name", closed_forms())
def test_equals_networkx(name):
    graph = closed_forms()[name][0]
    expected = torch.from_numpy(networkx.laplacian_matrix(graph).toarray()).double()
    torch.testing.assert_close(laplacian(adjacency(graph), "none")[0], expected)
    expected = torch.from_numpy(networkx.normalized_laplacian_matrix(graph).toarray())
    torch.testing.assert_close(laplacian(adjacency(graph), "sym")[0], expected)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_equals_pyg_with_weights_and_loops(normalization):
    """B6: edge weights are used. No node is isolated here, where PyG has another rule."""
    matrix = random_stack(1, 15) + torch.ones(15, 15)
    edge_index, edge_weight = dense_to_sparse(matrix[0])
    pyg_normalization = None if normalization == "none" else normalization
    expected = to_dense_adj(*_swap(get_laplacian(edge_index, edge_weight, pyg_normalization)))
    torch.testing.assert_close(laplacian(matrix, normalization), expected, rtol=1e-12, atol=1e-12)


def _swap(result):
    edge_index, edge_weight = result
    return edge_index, None, edge_weight


@given(random_adjacency())
def test_defining_properties(matrix):
    degrees = degree(without_self_loops(matrix))
    none, sym, rw = (laplacian(matrix, normalization) for normalization in NORMALIZATIONS)
    assert torch.equal(none, none.mT)
    assert torch.equal(sym, sym.mT)
    zero = torch.zeros_like(degrees)
    torch.testing.assert_close(none.sum(-1), zero, rtol=0, atol=1e-12)
    torch.testing.assert_close(rw.sum(-1), zero, rtol=0, atol=1e-12)
    null = (sym @ degrees.sqrt().unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(null, zero, rtol=0, atol=1e-12)
    isolated = degrees == 0
    for operator in (none, sym, rw):
        assert not operator[isolated].any()
    loops = torch.diag_embed(torch.ones_like(degrees))
    for normalization in NORMALIZATIONS:
        assert torch.equal(
            laplacian(matrix + loops, normalization), laplacian(matrix, normalization)
        )


@given(random_adjacency(directed=True))
def test_transition_rows_sum_to_one_or_zero(matrix):
    transition = transition_matrix(matrix)
    has_edges = (degree(matrix) > 0).double()
    power = transition
    for _ in range(3):
        # a walk that reached a node without outgoing edges is gone
        assert bool((power.sum(-1) <= has_edges + 1e-12).all())
        power = power @ transition
    torch.testing.assert_close(transition.sum(-1), has_edges, rtol=0, atol=1e-12)


def test_a_self_loop_counts_once_and_stays_in_the_walk():
    matrix = torch.tensor([[[1.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    assert degree(matrix).tolist() == [[2.0, 1.0]]
    assert transition_matrix(matrix).tolist() == [[[0.5, 0.5], [1.0, 0.0]]]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape, normalization):
    matrix = torch.zeros(shape, dtype=torch.float64)
    assert laplacian(matrix, normalization).shape == shape
    assert transition_matrix(matrix).shape == shape
    assert degree(matrix).shape == shape[:2]


def test_input_is_left_alone():
    matrix = random_stack(2, 6) + torch.eye(6)
    before = matrix.clone()
    for normalization in NORMALIZATIONS:
        laplacian(matrix, normalization)
    transition_matrix(matrix)
    assert torch.equal(matrix, before)


def test_unknown_normalization():
    with pytest.raises(ValueError, match="normalization is 'symmetric'; choose"):
        laplacian(random_stack(1, 3), "symmetric")
