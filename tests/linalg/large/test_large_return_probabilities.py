"""Return probabilities of large sparse graphs."""

from __future__ import annotations

import math
import tracemalloc

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from adjacency_zoo import random_adjacency
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg import return_probabilities, sparse_return_probabilities
from graphpe.linalg.large import return_probabilities as sparse_walks


def random_graph(n: int, degree: int, directed: bool, seed: int = 0) -> sp.csr_array:
    generator = np.random.default_rng(seed)
    u, v = generator.integers(0, n, (2, n * degree // 2))
    weights = generator.uniform(0.1, 2.0, len(u))
    adjacency = sp.coo_array((weights, (u, v)), shape=(n, n)).tocsr()
    return adjacency if directed else sp.csr_array(adjacency + adjacency.T)


def dense(adjacency: sp.csr_array, steps: int) -> np.ndarray:
    return return_probabilities(torch.from_numpy(adjacency.toarray())[None], steps)[0].numpy()


@pytest.fixture(params=["dense stacks", "sparse blocks", "dense blocks", "both kinds of blocks"])
def route(request, monkeypatch):
    """Sends the work of all components along one of the routes."""
    if request.param != "dense stacks":
        monkeypatch.setattr(sparse_walks, "_DENSE_LIMIT", 0)
        density = {"sparse blocks": 2.0, "dense blocks": -1.0}.get(request.param, 0.2)
        monkeypatch.setattr(sparse_walks, "_SPARSE_DENSITY", density)


@pytest.mark.usefixtures("route")
class TestEqualsDense:
    @pytest.mark.parametrize("directed", [False, True])
    def test_random_graphs(self, directed):
        @given(random_adjacency(directed=directed), st.integers(0, 9))
        def check(matrix, steps):
            adjacency = sp.csr_array(matrix[0].numpy())
            got = sparse_return_probabilities(adjacency, steps)
            np.testing.assert_allclose(got, dense(adjacency, steps), atol=1e-14)

        check()

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("steps", [1, 2, 7, 20])
    def test_larger_graph(self, directed, steps):
        adjacency = random_graph(400, 5, directed)
        got = sparse_return_probabilities(adjacency, steps)
        np.testing.assert_allclose(got, dense(adjacency, steps), atol=1e-13)

    @pytest.mark.parametrize("directed", [False, True])
    def test_memory_budget_changes_no_byte(self, directed):
        adjacency = random_graph(333, 4, directed)
        expected = sparse_return_probabilities(adjacency, 9)
        for budget in (1, 10**5, 10**6):
            got = sparse_return_probabilities(adjacency, 9, memory_budget=budget)
            assert np.array_equal(got, expected)


def test_long_cycle():
    n, steps = 3000, 20
    cycle = sp.csr_array(networkx.to_scipy_sparse_array(networkx.cycle_graph(n), dtype=float))
    expected = [math.comb(k, k // 2) / 2**k if k % 2 == 0 else 0.0 for k in range(1, steps + 1)]
    got = sparse_return_probabilities(cycle, steps)
    np.testing.assert_allclose(got, np.tile(expected, (n, 1)), atol=1e-14)


def test_directed_walks_leave_their_component_for_good():
    """What leaves counts in the degree, though the walk cannot come back."""
    ring = networkx.cycle_graph(500, create_using=networkx.DiGraph)
    ring.add_edge(0, 500)
    ring.add_edge(500, 501)
    got = sparse_return_probabilities(networkx.to_scipy_sparse_array(ring, dtype=float), 500)
    assert not got[:, :-1].any()
    np.testing.assert_allclose(got[:500, -1], 0.5)
    assert not got[500:].any()


def test_memory_stays_within_the_blocks():
    """B16: powers of a sparse matrix fill in; here a full n x n matrix would take 72 MB."""
    adjacency = random_graph(3000, 8, directed=False)
    tracemalloc.start()
    sparse_return_probabilities(adjacency, 20, memory_budget=2 * 2**20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 2**20


def test_progress_counts_all_nodes():
    adjacency = sp.csr_array(sp.block_diag([random_graph(700, 6, False), np.ones((2, 2)), [[0.0]]]))
    done = []
    sparse_return_probabilities(adjacency, 4, progress=done.append)
    assert sum(done) == 703
    assert len(done) > 3


@pytest.mark.parametrize("n", [0, 1, 300])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_no_edges(n, steps):
    """B35"""
    got = sparse_return_probabilities(sp.csr_array((n, n)), steps)
    assert got.shape == (n, steps)
    assert not got.any()


def test_bad_input():
    with pytest.raises(ValueError, match="steps is -2"):
        sparse_return_probabilities(sp.csr_array((2, 2)), -2)
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="weights must be finite and non-negative"):
            sparse_return_probabilities(sp.csr_array([[0.0, weight], [weight, 0.0]]), 2)
