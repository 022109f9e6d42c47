"""The block Krylov iteration on operators with known eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

from graphpe.linalg.large import block_krylov
from graphpe.linalg.large.block_krylov import dominant_vectors
from graphpe.linalg.large.eigensolvers.search import Search


def solve(laplacian_values, wanted, seed=0, known=None):
    """The first value is that of the null vector; the operator is the pseudo-inverse, diagonal."""
    values = np.asarray(laplacian_values, dtype=float)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)[:, None]
    if known is None:
        known = np.eye(len(values), 1)
    search = Search(wanted, known, 1e-10, np.random.default_rng(seed))
    return dominant_vectors(lambda block: inverse * block, search, 1e-10)


def found_values(outcome, laplacian_values, wanted):
    values = np.asarray(laplacian_values, dtype=float)
    return np.sort(np.einsum("i,ij,ij->j", values, outcome.vectors, outcome.vectors))[:wanted]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(400.0),
        np.repeat(np.arange(200.0), 2)[1:],  # double values, but for the null vector
        np.concatenate([[0], np.repeat([1.0, 2.0, 3.0], 3), 5 + np.arange(400.0)]),
        np.concatenate([[0], np.ones(500)]),  # one eigenspace
        np.concatenate([[0], np.linspace(1, 1.01, 500)]),  # no gap anywhere
        np.concatenate([[0], [1e-8], 1 + np.arange(500.0)]),  # one far from all others
    ],
    ids=["simple", "double", "triple", "single eigenspace", "no gap", "far apart"],
)
@pytest.mark.parametrize("wanted", [1, 7, 20, 70])
def test_finds_the_largest_with_all_copies(values, wanted):
    outcome = solve(values, wanted)
    assert outcome.converged
    gram = outcome.vectors.T @ outcome.vectors
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
    np.testing.assert_allclose(outcome.vectors[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(
        found_values(outcome, values, wanted), np.sort(values)[1 : wanted + 1], rtol=1e-8
    )


def test_goes_on_where_another_search_ended():
    values = np.concatenate([[0], np.repeat([1.0, 2.0, 3.0], 3), 5 + np.arange(400.0)])
    known = np.eye(len(values))[:, [0, 1, 2, 5]]
    outcome = solve(values, 6, known=known)
    np.testing.assert_allclose(known.T @ outcome.vectors, 0.0, atol=1e-12)
    np.testing.assert_allclose(found_values(outcome, values, 6), [1, 2, 2, 3, 3, 3], rtol=1e-8)


def test_same_seed_same_bytes():
    values = np.arange(300.0)
    assert np.array_equal(solve(values, 5, seed=3).vectors, solve(values, 5, seed=3).vectors)
    assert not np.array_equal(solve(values, 5, seed=3).vectors, solve(values, 5, seed=4).vectors)


def test_gives_up(monkeypatch):
    monkeypatch.setattr(block_krylov, "_STEPS", 2)
    monkeypatch.setattr(block_krylov, "_TURNS", 2)
    outcome = solve(np.concatenate([[0], np.linspace(1, 1.01, 500)]), 5)
    assert not outcome.converged
    assert outcome.effort == "14 block steps"
