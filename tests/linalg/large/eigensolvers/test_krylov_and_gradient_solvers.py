"""Shift-invert, Lanczos and LOBPCG: their operators, and how they end."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from large_graphs import grid, path, random_graph, sparse

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers import lanczos as lanczos_module
from graphpe.linalg.large.eigensolvers import lobpcg as lobpcg_module
from graphpe.linalg.large.eigensolvers.lanczos import lanczos
from graphpe.linalg.large.eigensolvers.lobpcg import lobpcg, polynomial_preconditioner
from graphpe.linalg.large.eigensolvers.search import Search
from graphpe.linalg.large.eigensolvers.shift_invert import PseudoInverse, shift_invert
from graphpe.linalg.large.laplacian_solvers import ConjugateGradients, GroundedFactor


def laplacian_of(adjacency, normalized=True):
    degrees = adjacency.sum(1)
    scale = np.sqrt(degrees) if normalized else np.ones_like(degrees)
    return ConnectedLaplacian(adjacency, scale)


@pytest.mark.parametrize("solver", [GroundedFactor, ConjugateGradients])
@pytest.mark.parametrize("normalized", [False, True])
def test_pseudo_inverse(solver, normalized):
    adjacency = sparse(networkx.barabasi_albert_graph(60, 2, seed=0))
    laplacian = laplacian_of(adjacency, normalized)
    inverse = PseudoInverse(solver(adjacency), laplacian.scale)
    null_vector = laplacian.null_vector
    off_null = np.eye(len(null_vector)) - np.outer(null_vector, null_vector)
    expected = np.linalg.pinv(laplacian.matrix.toarray(), rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(off_null @ inverse(off_null), expected, atol=1e-8)


@pytest.mark.parametrize("normalized", [False, True])
def test_polynomial_preconditioner_is_symmetric_and_close_to_the_inverse(normalized):
    laplacian = laplacian_of(random_graph(300, 8), normalized)
    values, vectors = np.linalg.eigh(laplacian.matrix.toarray())
    image = polynomial_preconditioner(laplacian)(vectors)
    np.testing.assert_allclose(image.T @ vectors, vectors.T @ image, atol=1e-12)
    gains = np.einsum("ij,ij->j", vectors, image)
    np.testing.assert_allclose(image, vectors * gains, atol=1e-10)
    assert (gains > 0).all()
    upper = values > laplacian.bound / 200
    assert np.abs(gains * values - 1)[upper].max() < 0.4


def solve(name, laplacian, search):
    if name == "lanczos":
        return lanczos(laplacian, search)
    if name == "lobpcg":
        return lobpcg(laplacian, search, polynomial_preconditioner(laplacian))
    return shift_invert(laplacian, search, ConjugateGradients(laplacian.adjacency))


@pytest.mark.parametrize("name", ["lanczos", "lobpcg", "shift-invert"])
@pytest.mark.parametrize("normalized", [False, True])
def test_smallest_off_the_known_vectors(name, normalized):
    laplacian = laplacian_of(random_graph(500, 8), normalized)
    values, vectors = np.linalg.eigh(laplacian.matrix.toarray())
    known = vectors[:, [0, 1, 3, 4]]
    outcome = solve(name, laplacian, Search(3, known, 1e-9, np.random.default_rng(0)))
    assert outcome.converged
    found = outcome.vectors[:, :3]
    np.testing.assert_allclose(known.T @ found, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(
        np.sort(laplacian.rayleigh_quotients(found)), values[[2, 5, 6]], atol=1e-10
    )


def test_lanczos_gives_up_on_a_long_path(monkeypatch):
    """B2: no exception of ARPACK's comes through."""
    monkeypatch.setattr(lanczos_module, "_MOST_RESTARTS", 3)
    laplacian = laplacian_of(path(2000))
    known = laplacian.null_vector[:, None]
    outcome = lanczos(laplacian, Search(5, known, 1e-9, np.random.default_rng(0)))
    assert not outcome.converged
    assert outcome.vectors.shape[1] < 5


def test_lobpcg_gives_up(monkeypatch):
    monkeypatch.setattr(lobpcg_module, "_STAGES", 1)
    monkeypatch.setattr(lobpcg_module, "_STEPS", 2)
    laplacian = laplacian_of(grid(30, 30))
    known = laplacian.null_vector[:, None]
    search = Search(5, known, 1e-9, np.random.default_rng(0))
    outcome = lobpcg(laplacian, search, polynomial_preconditioner(laplacian))
    assert not outcome.converged


def test_lobpcg_with_a_factor_is_quick_on_an_ill_conditioned_path():
    """B13: a path of 400 nodes, 5 smallest, where torch.lobpcg takes a minute."""
    laplacian = laplacian_of(path(400), normalized=False)
    inverse = PseudoInverse(GroundedFactor(laplacian.adjacency), laplacian.scale)
    known = laplacian.null_vector[:, None]
    outcome = lobpcg(laplacian, Search(4, known, 1e-9, np.random.default_rng(0)), inverse)
    assert outcome.converged
    np.testing.assert_allclose(
        np.sort(laplacian.rayleigh_quotients(outcome.vectors)),
        2 - 2 * np.cos(np.pi * np.arange(1, 5) / 400),
        rtol=1e-9,
    )
