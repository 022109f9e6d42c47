"""A solver that passes over eigenvalues is found out, whichever it is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from large_graphs import cycle, grid, grid_values, hypercube, operator, random_graph

from graphpe.linalg import smallest_laplacian_eigenpairs
from graphpe.linalg.large import complete_search, eigenpairs
from graphpe.linalg.large.complete_search import smallest_eigenpairs
from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import ConvergenceError, Outcome, Search


def dense(laplacian, search):
    """An exact solver on the complement of the known vectors."""
    n = len(search.known)
    projector = np.eye(n) - search.known @ search.known.T
    far = 10 * laplacian.unit * (np.eye(n) - projector)
    _, vectors = np.linalg.eigh(projector @ laplacian.matrix.toarray() @ projector + far)
    return Outcome(vectors[:, : search.wanted], True, "one step")


def skipping(solver, positions):
    """The same solver, but on its first call it passes over the values at some positions."""
    calls = []

    def broken(laplacian, search):
        calls.append(search.wanted)
        if len(calls) > 1:
            return solver(laplacian, search)
        more = dataclasses.replace(search, wanted=search.wanted + len(positions))
        vectors = solver(laplacian, more).vectors[:, : more.wanted]
        order = np.argsort(laplacian.rayleigh_quotients(vectors))
        return Outcome(vectors[:, np.delete(order, positions)], True, "one step")

    broken.calls = calls
    return broken


def search_of(laplacian, wanted, tolerance=1e-9):
    return Search(wanted, laplacian.null_vector[:, None], tolerance, np.random.default_rng(0))


def laplacian_of(adjacency):
    return ConnectedLaplacian(adjacency, np.ones(adjacency.shape[0]))


@pytest.mark.parametrize("positions", [[], [0], [1], [7], [0, 1], [0, 3, 4, 6], list(range(8))])
@pytest.mark.parametrize("adjacency", [cycle(60), grid(7, 7), hypercube(6), random_graph(80, 6)])
def test_what_was_passed_over_is_added(adjacency, positions):
    laplacian = laplacian_of(adjacency)
    solver = skipping(dense, positions)
    values, vectors = smallest_eigenpairs(laplacian, search_of(laplacian, 8), solver)
    full = np.linalg.eigvalsh(laplacian.matrix.toarray())
    np.testing.assert_allclose(values, full[1:9], atol=1e-11)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-11)
    assert len(solver.calls) >= 2  # it has looked


@pytest.mark.parametrize("name", ["shift-invert", "chebyshev", "lanczos", "lobpcg"])
def test_a_copy_that_a_real_solver_skips_is_found(name, monkeypatch):
    """The first nonzero value of a square grid is double; its residuals say nothing."""
    true_solver = eigenpairs.prepared
    monkeypatch.setattr(eigenpairs, "prepared", lambda *a: skipping(true_solver(*a), [1]))
    values, _ = smallest_laplacian_eigenpairs(grid(20, 20), 9, "none", solver=name, dense_limit=10)
    np.testing.assert_allclose(values, grid_values(20, 20, 9), atol=1e-11)
    # without the look it stays unseen, so that this test can fail
    monkeypatch.setattr(complete_search, "_RELATIVE_SLACK", 1e9)
    values, _ = smallest_laplacian_eigenpairs(grid(20, 20), 9, "none", solver=name, dense_limit=10)
    assert values[2] > 1.5 * values[1]


def test_all_of_a_small_graph():
    laplacian = laplacian_of(cycle(9))
    values, _ = smallest_eigenpairs(laplacian, search_of(laplacian, 8), skipping(dense, []))
    np.testing.assert_allclose(
        values, np.linalg.eigvalsh(operator(cycle(9), "none").toarray())[1:], atol=1e-12
    )


def test_failures_are_told():
    laplacian = laplacian_of(cycle(200))

    def none_found(laplacian, search):
        return Outcome(np.empty((200, 0)), False, "7 steps")

    def never_the_smallest(laplacian, search):
        vectors = dense(laplacian, dataclasses.replace(search, wanted=search.wanted + 1)).vectors
        return Outcome(vectors[:, 1:] if search.wanted > 1 else vectors[:, :1], True, "one step")

    with pytest.raises(ConvergenceError, match=r"0 of 4 .* residual of 1e-09 in 7 steps"):
        smallest_eigenpairs(laplacian, search_of(laplacian, 4), none_found)
    with pytest.raises(ConvergenceError, match="passed over again and again"):
        smallest_eigenpairs(laplacian, search_of(laplacian, 4), never_the_smallest)
