"""The block Krylov iteration on operators with known eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

from graphpe.linalg.large import block_krylov
from graphpe.linalg.large.block_krylov import dominant_vectors


class Diagonal:
    """An operator whose eigenvectors are the unit vectors."""

    needs_tuning = False

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)[:, None]

    def tune(self, basis):
        raise AssertionError("needs no tuning")

    def __call__(self, block):
        return self.values * block


def solve(laplacian_values, wanted, seed=0):
    """The first value is that of the null vector; the operator is the pseudo-inverse."""
    values = np.asarray(laplacian_values, dtype=float)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    null_vector = np.zeros(len(values))
    null_vector[0] = 1.0
    return dominant_vectors(
        Diagonal(inverse),
        lambda vectors: np.einsum("i,ij,ij->j", values, vectors, vectors),
        null_vector,
        wanted,
        np.random.default_rng(seed),
    )


def found_values(outcome, laplacian_values, wanted):
    values = np.asarray(laplacian_values, dtype=float)
    return np.sort(np.einsum("i,ij,ij->j", values, outcome.vectors, outcome.vectors))[:wanted]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(400.0),
        np.repeat(np.arange(200.0), 2)[1:],  # double values, but for the null vector
        np.concatenate([[0], np.repeat([1.0, 2.0, 3.0], 15), 5 + np.arange(400.0)]),
        np.concatenate([[0], np.ones(500)]),  # one eigenspace
        np.concatenate([[0], np.linspace(1, 1.01, 500)]),  # no gap anywhere
        np.concatenate([[0], [1e-8], 1 + np.arange(500.0)]),  # one far from all others
    ],
    ids=["simple", "double", "15-fold", "single eigenspace", "no gap", "far apart"],
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


def test_the_final_search_finds_what_was_passed_over(monkeypatch):
    """The fault that a residual check cannot see: true eigenpairs, but not the right ones."""
    values = np.concatenate([[0], np.full(30, 1.0), 2 + np.arange(400.0)])
    true_search = block_krylov._krylov_schur
    calls = []

    def one_copy_only(operator, start, locked, wanted, most_steps, tolerance):
        calls.append(wanted)
        if len(calls) == 1:  # a start without components along 29 of the 30 copies
            start = start.copy()
            start[2:31] = 0.0
        return true_search(operator, start, locked, wanted, most_steps, tolerance)

    monkeypatch.setattr(block_krylov, "_krylov_schur", one_copy_only)
    outcome = solve(values, 12)
    assert outcome.converged
    assert len(calls) > 3
    np.testing.assert_allclose(found_values(outcome, values, 12), np.ones(12), rtol=1e-10)


def test_same_seed_same_bytes():
    values = np.arange(300.0)
    assert np.array_equal(solve(values, 5, seed=3).vectors, solve(values, 5, seed=3).vectors)
    assert not np.array_equal(solve(values, 5, seed=3).vectors, solve(values, 5, seed=4).vectors)


def test_gives_up(monkeypatch):
    monkeypatch.setattr(block_krylov, "_STEPS", 2)
    monkeypatch.setattr(block_krylov, "_TURNS", 2)
    outcome = solve(np.concatenate([[0], np.linspace(1, 1.01, 500)]), 5)
    assert not outcome.converged
    assert outcome.residual > 1e-10
