"""Operators that bring the smallest eigenvalues to the top."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from graphpe.linalg.large.laplacian_solvers import ConjugateGradients, GroundedFactor
from graphpe.linalg.large.spectral_operators import LowPassFilter, PseudoInverse


def graph_matrices(graph, normalized):
    """Adjacency, scale and Laplacian."""
    adjacency = sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=float))
    degrees = adjacency.sum(1)
    scale = np.sqrt(degrees) if normalized else np.ones_like(degrees)
    inverse = sp.diags_array(1 / scale)
    laplacian = (inverse @ (sp.diags_array(degrees) - adjacency) @ inverse).tocsr()
    return adjacency, scale, laplacian


@pytest.mark.parametrize("solver", [GroundedFactor, ConjugateGradients])
@pytest.mark.parametrize("normalized", [False, True])
def test_pseudo_inverse(solver, normalized):
    graph = networkx.barabasi_albert_graph(60, 2, seed=0)
    adjacency, scale, laplacian = graph_matrices(graph, normalized)
    operator = PseudoInverse(solver(adjacency), scale)
    null_vector = scale / np.linalg.norm(scale)
    off_null = np.eye(len(scale)) - np.outer(null_vector, null_vector)
    expected = np.linalg.pinv(laplacian.toarray(), rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(off_null @ operator(off_null), expected, atol=1e-8)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    "graph",
    [
        networkx.random_regular_graph(4, 80, seed=0),
        networkx.star_graph(60),  # the values of the basis are all equal
        networkx.complete_graph(40),
        networkx.complete_bipartite_graph(20, 30),
        networkx.barbell_graph(20, 20),
    ],
    ids=["regular", "star", "complete", "bipartite", "barbell"],
)
def test_filter_keeps_the_order_of_the_wanted_and_damps_the_rest(graph, normalized):
    _, _, laplacian = graph_matrices(graph, normalized)
    bound = 2.0 if normalized else 2 * laplacian.diagonal().max()
    values, vectors = np.linalg.eigh(laplacian.toarray())
    operator = LowPassFilter(laplacian, bound)
    wanted = slice(1, 6)
    operator.tune(vectors[:, wanted])
    gains = np.einsum("ij,ij->j", vectors, operator(vectors))
    assert (np.diff(gains[wanted]) <= 1e-6 * gains[1]).all()
    beyond = values > values[5] + 1e-9
    # the rest is below the wanted, and nowhere below −1
    assert gains[5] > 1.0
    assert gains[beyond].max(initial=-1.0) < gains[5]
    assert gains[beyond].min(initial=-1.0) > -1.0 - 1e-6


def test_rounding_along_the_null_vector_is_not_amplified_beyond_the_rest():
    """Wanted values far from 0 and close together: the filter would be steep without a margin."""
    _, _, laplacian = graph_matrices(networkx.random_regular_graph(40, 200, seed=0), True)
    vectors = np.linalg.eigh(laplacian.toarray())[1]
    operator = LowPassFilter(laplacian, 2.0)
    operator.tune(vectors[:, 1:3])
    null_vector = vectors[:, [0]]
    assert np.abs(null_vector.T @ operator(1e-16 * null_vector)) < 0.1
