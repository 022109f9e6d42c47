"""Smallest magnetic eigenpairs of large graphs: the dense operator, closed forms, repeated eigenvalues."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphpe.linalg.large.eigensolvers.search import ConvergenceError
from graphpe.linalg.large.magnetic import large_relative_divisor, smallest_magnetic_eigenpairs
from graphpe.linalg.spectra.magnetic import magnetic_laplacian, relative_divisor


def tree(n: int, seed: int = 0) -> sp.csr_array:
    """An oriented tree with a few more edges, loops among them."""
    generator = np.random.default_rng(seed)
    child = np.arange(1, n)
    parent = (child * generator.random(n - 1)).astype(int)
    flip = generator.random(n - 1) < 0.5
    source, target = np.where(flip, child, parent), np.where(flip, parent, child)
    extra = generator.integers(0, n, (2, 5))
    ends = np.concatenate([np.stack([source, target]), extra], axis=1)
    return sp.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))


def expander(n: int) -> sp.csr_array:
    graph = networkx.random_regular_graph(6, n, seed=0)
    return sp.csr_array(
        networkx.to_scipy_sparse_array(graph, dtype=float) * np.triu(np.ones((n, n)))
    )


GRAPHS = {"tree": tree(400), "expander": expander(400)}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("two_way", ["binary", "phase", "average"])
@pytest.mark.parametrize("normalization", ["sym", "none"])
def test_the_dense_operator_has_these_pairs(name, two_way, normalization) -> None:
    adjacency = GRAPHS[name]
    potentials = torch.tensor([0.01, 0.2], dtype=torch.float64)
    values, vectors = smallest_magnetic_eigenpairs(
        adjacency, potentials, 6, two_way, normalization, dense_limit=10
    )
    dense = torch.from_numpy(adjacency.toarray())[None]
    operator = magnetic_laplacian(dense, potentials[None], two_way, normalization)[0]
    expected = torch.linalg.eigvalsh(operator)[:, :6].clamp_min(0)
    torch.testing.assert_close(values, expected, atol=1e-9, rtol=1e-9)
    residual = operator @ vectors - vectors * values.unsqueeze(-2)
    assert residual.abs().max() < 1e-7
    identity = torch.eye(6, dtype=torch.complex128).expand(2, -1, -1)
    torch.testing.assert_close(vectors.mH @ vectors, identity, atol=1e-9, rtol=0)


def test_repeated_eigenvalues_are_all_found() -> None:
    """A directed cycle whose phases add up to a whole number has every eigenvalue but the first twice."""
    n = 600
    cycle = sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    q = torch.tensor([7 / n], dtype=torch.float64)
    values, vectors = smallest_magnetic_eigenpairs(cycle, q, 6, dense_limit=10)
    closed = np.sort(1 - np.cos(2 * np.pi * np.arange(n) / n))[:6]
    np.testing.assert_allclose(values[0].numpy(), closed, atol=1e-10)
    assert torch.linalg.matrix_rank(vectors[0]) == 6


def test_components_large_and_small() -> None:
    adjacency = sp.csr_array(
        sp.block_diag([tree(30, 1), tree(350, 2), tree(30, 3), sp.csr_array((4, 4))])
    )
    potentials = torch.tensor([0.1], dtype=torch.float64)
    for isolated in ("zero", "one"):
        values, vectors = smallest_magnetic_eigenpairs(
            adjacency, potentials, 9, isolated=isolated, dense_limit=10
        )
        dense = torch.from_numpy(adjacency.toarray())[None]
        operator = magnetic_laplacian(dense, potentials[None], isolated=isolated)[0]
        torch.testing.assert_close(
            values, torch.linalg.eigvalsh(operator)[:, :9].clamp_min(0), atol=1e-9, rtol=0
        )
        assert (operator @ vectors - vectors * values.unsqueeze(-2)).abs().max() < 1e-7


def test_the_same_seed_gives_the_same_bytes() -> None:
    potentials = torch.tensor([0.1], dtype=torch.float64)
    one, other = (
        smallest_magnetic_eigenpairs(tree(400), potentials, 4, dense_limit=10) for _ in range(2)
    )
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


def test_relative_divisor_is_that_of_the_dense_form() -> None:
    for adjacency in (tree(50), expander(50), sp.csr_array((3, 3))):
        dense = torch.from_numpy(adjacency.toarray())[None]
        assert large_relative_divisor(adjacency) == float(relative_divisor(dense))


def test_limits_are_named(monkeypatch) -> None:
    potentials = torch.tensor([0.1], dtype=torch.float64)
    with pytest.raises(
        ValueError, match=r"graph 3: 5 eigenvectors of a component of 400 nodes need"
    ):
        smallest_magnetic_eigenpairs(
            tree(400), potentials, 5, dense_limit=10, memory_budget=1000, name="graph 3"
        )
    monkeypatch.setattr("graphpe.linalg.large.block_krylov._TURNS", -10)
    with pytest.raises(
        ConvergenceError, match=r"graph 3, component of 400 nodes, q = 0.1: .*dense_limit"
    ):
        smallest_magnetic_eigenpairs(tree(400), potentials, 5, dense_limit=10, name="graph 3")
