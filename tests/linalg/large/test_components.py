"""Splitting sparse graphs into components."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from adjacency_zoo import random_adjacency
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.large.components import Components


def reassembled(components: Components, limit: int, entries: int) -> np.ndarray:
    """The block-diagonal matrix from the parts, in the original order of nodes."""
    n = len(components.nodes)
    ordered = np.zeros((n, n))
    for place, matrix in components.larger_than(limit):
        assert matrix.shape[0] > limit
        ordered[place, place] = matrix.toarray()
    for place, stack in components.stacks(limit, entries):
        size = stack.shape[1]
        assert size <= limit
        assert stack.size <= max(entries, size**2)
        for i, matrix in enumerate(stack):
            own = slice(place.start + i * size, place.start + (i + 1) * size)
            ordered[own, own] = matrix
    result = np.zeros((n, n))
    result[np.ix_(components.nodes, components.nodes)] = ordered
    return result


@given(random_adjacency(), st.integers(0, 12), st.sampled_from([1, 30, 10**6]))
def test_parts_make_the_whole(matrix, limit, entries):
    matrix = matrix[0].numpy()
    components = Components(sp.csr_array(matrix), "weak")
    np.testing.assert_array_equal(reassembled(components, limit, entries), matrix)


@given(random_adjacency(directed=True), st.integers(0, 12))
def test_strong_components_lose_the_edges_between_them(matrix, limit):
    matrix = matrix[0].numpy()
    components = Components(sp.csr_array(matrix), "strong")
    graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    expected = np.zeros_like(matrix)
    for nodes in map(list, networkx.strongly_connected_components(graph)):
        expected[np.ix_(nodes, nodes)] = matrix[np.ix_(nodes, nodes)]
    np.testing.assert_array_equal(reassembled(components, limit, 10**6), expected)


def test_largest_first_then_by_first_node():
    graph = networkx.Graph([(0, 7), (1, 6), (2, 5), (5, 3)])
    graph.add_node(4)
    matrix = networkx.to_scipy_sparse_array(graph, nodelist=range(8))
    components = Components(matrix, "weak")
    assert components.sizes.tolist() == [3, 2, 2, 1]
    assert components.starts.tolist() == [0, 3, 5, 7]
    assert components.nodes.tolist() == [2, 3, 5, 0, 7, 1, 6, 4]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_edges(n):
    components = Components(sp.csr_array((n, n)), "strong")
    assert components.sizes.tolist() == [1] * n
    np.testing.assert_array_equal(reassembled(components, 5, 10), np.zeros((n, n)))
