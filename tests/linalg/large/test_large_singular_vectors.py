"""Singular values of large sparse matrices: dense SciPy, repeated values, low rank, and failures that say so."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from graphpe.linalg.large import block_krylov
from graphpe.linalg.large.eigensolvers.search import ConvergenceError
from graphpe.linalg.large.singular_vectors import largest_singular_vectors


def of(graph: networkx.Graph) -> sp.csr_array:
    return sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=float))


GENERATOR = np.random.default_rng(0)


def random_matrix(n: int, density: float) -> sp.csr_array:
    return sp.csr_array(sp.random(n, n, density, random_state=GENERATOR))


MATRICES = {
    "random digraph": random_matrix(700, 0.01),
    "torus (values four and eight times)": of(networkx.grid_2d_graph(20, 20, periodic=True)),
    "grid (values twice)": of(networkx.grid_2d_graph(20, 25)),
    "oriented tree": sp.csr_array(sp.triu(of(networkx.random_labeled_tree(600, seed=1)))),
    "star (rank 2)": of(networkx.star_graph(500)),
    "directed path (one value 499 times)": sp.csr_array(
        sp.diags_array([np.ones(499)], offsets=[1])
    ),
    "complete blocks (one value ten times)": sp.block_diag([np.ones((40, 40))] * 10, format="csr"),
    "one edge": sp.csr_array((np.ones(1), ([3], [5])), shape=(400, 400)),
    "no edge": sp.csr_array((400, 400)),
    "small": sp.csr_array(np.triu(np.ones((6, 6)), 1)),
    "huge weights": 1e90 * random_matrix(400, 0.02),
    "tiny weights": 1e-90 * random_matrix(400, 0.02),
}


@pytest.mark.parametrize("wanted", [1, 6])
@pytest.mark.parametrize("name", MATRICES)
def test_values_and_vectors(name: str, wanted: int) -> None:
    matrix = MATRICES[name]
    left, values, right = largest_singular_vectors(matrix, wanted)
    exact = scipy.linalg.svdvals(matrix.toarray())[:wanted]
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-9 * exact[0])
    assert not values[exact <= 1e-12 * exact[0]].any()  # exactly zero
    valid = values > 0
    left, values, right = left[:, valid], values[valid], right[:, valid]
    norm = max(values, default=1.0)
    np.testing.assert_allclose(matrix @ right / norm, left * values / norm, atol=1e-10)
    np.testing.assert_allclose(matrix.T @ left / norm, right * values / norm, atol=1e-7)
    np.testing.assert_allclose(left.T @ left, np.eye(len(values)), atol=1e-9)
    np.testing.assert_allclose(right.T @ right, np.eye(len(values)), atol=1e-9)


def test_the_seed_decides() -> None:
    matrix = MATRICES["torus (values four and eight times)"]
    one, again, other = (largest_singular_vectors(matrix, 4, seed=seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)  # another basis of the space of the value 2 + 2 cos(π/10)


def test_a_search_without_an_end_is_an_error_and_not_a_wrong_result(monkeypatch) -> None:
    """The largest values of a long undirected path differ by about (π / n)²."""
    monkeypatch.setattr(block_krylov, "_TURNS", 0)
    with pytest.raises(ConvergenceError, match=r"graph 3: the largest 1 singular .* lower k, or r"):
        largest_singular_vectors(of(networkx.path_graph(3000)), 3, name="graph 3")
