"""Estimates of return probabilities: unbiased, with honest errors."""

from __future__ import annotations

import tracemalloc

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from adjacency_zoo import random_adjacency
from hypothesis import given, settings
from hypothesis import strategies as st
from large_graphs import (
    disjoint,
    email_enron,
    giant_component,
    grid,
    path,
    random_graph,
    sparse,
    weighted,
)

from graphpe.linalg import sparse_return_probabilities
from graphpe.linalg.large import return_probabilities as exact_module
from graphpe.linalg.large.estimated_return_probabilities import estimate_return_probabilities


def directed_graph(n: int = 400) -> sp.csr_array:
    generator = np.random.default_rng(0)
    rows, columns = generator.integers(0, n, (2, 6 * n))
    return sp.csr_array((generator.uniform(0.1, 2.0, 6 * n), (rows, columns)), shape=(n, n))


GRAPHS = {
    "expander": random_graph(500, 6),
    "weighted, with loops": sp.csr_array(
        weighted(random_graph(400, 6)) + sp.diags_array(np.linspace(0, 3, 400))
    ),
    "bipartite": grid(18, 20),
    "hub": sparse(networkx.barabasi_albert_graph(500, 2, seed=0)),
    "directed": directed_graph(),
    "disconnected": disjoint(grid(17, 18), random_graph(400, 6), path(5), [[0.0]], path(300)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_unbiased_with_the_stated_error(name):
    """Over all nodes and steps, (estimate − exact) / error is about standard normal."""
    adjacency = GRAPHS[name]
    exact = sparse_return_probabilities(adjacency, 11)
    scores = []
    for seed in range(12):
        estimate, error = estimate_return_probabilities(adjacency, 11, samples=300, seed=seed)
        is_estimated = error > 1e-12
        np.testing.assert_allclose(estimate[~is_estimated], exact[~is_estimated], atol=1e-10)
        scores.append(np.where(is_estimated, (estimate - exact) / np.maximum(error, 1e-12), 0.0))
    scores = np.stack(scores)
    estimated = (scores != 0).any(0)
    assert estimated.any()
    spread = np.sqrt((scores[:, estimated] ** 2).mean())
    assert 0.8 < spread < 1.2
    # the mean over independent seeds shrinks with their number: no bias that stays
    assert np.sqrt((scores.mean(0)[estimated] ** 2).mean()) < 2 * spread / np.sqrt(12)


def test_undirected_relative_error_is_bounded():
    """Even steps of an undirected graph: √(2/samples), however small the probability."""
    adjacency = giant_component(random_graph(3000, 8))
    exact = sparse_return_probabilities(adjacency, 10)
    estimate, error = estimate_return_probabilities(adjacency, 10, samples=200)
    even = slice(1, None, 2)
    relative = (estimate - exact)[:, even] / exact[:, even]
    assert np.sqrt((relative**2).mean(0)).max() < 1.1 * np.sqrt(2 / 200)
    assert np.median(error[:, even] / exact[:, even]) < 1.1 * np.sqrt(2 / 200)


def random_bipartite_graph(n: int = 300) -> sp.csr_array:
    block = random_graph(n, 8)[: n // 2, n // 2 :]
    return giant_component(sp.csr_array(sp.block_array([[None, block], [block.T, None]])))


def test_first_two_steps_bipartite_odd_steps_and_limits_are_exact():
    bipartite, expander = random_bipartite_graph(900), giant_component(random_graph(300, 8))
    adjacency, m = disjoint(bipartite, expander), bipartite.shape[0]
    exact = sparse_return_probabilities(adjacency, 401)
    estimate, error = estimate_return_probabilities(adjacency, 401, samples=2)
    np.testing.assert_allclose(estimate[:, :2], exact[:, :2], atol=1e-15)
    assert not error[:, :2].any()
    assert not estimate[:m, 0::2].any()
    assert not error[:m, 0::2].any()
    # after 400 steps only the limits are left, so that two draws give them
    np.testing.assert_allclose(estimate[:, -2:], exact[:, -2:], rtol=1e-6, atol=1e-12)


def test_small_components_are_exact():
    adjacency = disjoint(random_graph(250, 6), path(4), np.ones((3, 3)), [[0.0]])
    exact = sparse_return_probabilities(adjacency, 8)
    estimate, error = estimate_return_probabilities(adjacency, 8, samples=2)
    np.testing.assert_allclose(estimate, exact, atol=1e-12)
    assert not error.any()


@settings(max_examples=30)
@given(random_adjacency(directed=True), st.integers(0, 6))
def test_any_graph_without_the_dense_route(matrix, steps):
    """Also where walks leave a component."""
    adjacency = sp.csr_array(matrix[0].numpy())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_module, "_DENSE_LIMIT", 1)
        estimate, error = estimate_return_probabilities(adjacency, steps, samples=400)
    exact = sparse_return_probabilities(adjacency, steps)
    assert estimate.shape == error.shape == exact.shape
    # an error that happens to be estimated as 0 says nothing on rare events: 1/samples at most
    assert (np.abs(estimate - exact) <= 8 * error + 0.1).all()


@pytest.mark.parametrize("name", ["expander", "directed", "disconnected"])
def test_memory_budget_changes_no_byte(name):
    expected = estimate_return_probabilities(GRAPHS[name], 7, samples=37, seed=3)
    for budget in (1, 10**5):
        got = estimate_return_probabilities(
            GRAPHS[name], 7, samples=37, seed=3, memory_budget=budget
        )
        assert all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))


def test_seed():
    """B1: of any 64 bits, negative ones too."""
    first, _ = estimate_return_probabilities(GRAPHS["expander"], 4, samples=5, seed=-(2**63))
    again, _ = estimate_return_probabilities(GRAPHS["expander"], 4, samples=5, seed=-(2**63))
    other, _ = estimate_return_probabilities(GRAPHS["expander"], 4, samples=5, seed=2**63 - 1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_memory_stays_within_the_blocks():
    """B16: a full n x n matrix would take 3 GB."""
    adjacency = random_graph(20_000, 8)
    tracemalloc.start()
    estimate_return_probabilities(adjacency, 8, samples=4, memory_budget=2**20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # copies of the matrix (its double cover too; scipy 1.12 makes one more), four arrays as large as the result
    assert peak < 7 * 16 * adjacency.nnz + 6 * 8 * 20_000 * 8


def test_progress_counts_all_nodes():
    done = []
    adjacency = GRAPHS["disconnected"]
    estimate_return_probabilities(adjacency, 4, samples=50, progress=done.append)
    assert sum(done) == adjacency.shape[0]
    assert len(done) > 3


@pytest.mark.parametrize("n", [0, 1, 2, 300])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_no_edges(n, steps):
    """B35"""
    for result in estimate_return_probabilities(sp.csr_array((n, n)), steps, samples=2):
        assert result.shape == (n, steps)
        assert not result.any()


def test_bad_input():
    with pytest.raises(ValueError, match="steps is -2"):
        estimate_return_probabilities(sp.csr_array((2, 2)), -2, samples=2)
    with pytest.raises(ValueError, match="samples is 1; it must be at least 2"):
        estimate_return_probabilities(sp.csr_array((2, 2)), 2, samples=1)
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="weights must be finite and non-negative"):
            estimate_return_probabilities(
                sp.csr_array([[0.0, weight], [weight, 0.0]]), 2, samples=2
            )


@pytest.mark.slow
def test_email_enron(shared_data):
    adjacency = email_enron(shared_data)
    estimate, error = estimate_return_probabilities(adjacency, 8, samples=32)
    walks, _ = exact_module.walk_matrix(adjacency, 8)
    nodes = np.random.default_rng(0).choice(adjacency.shape[0], 128, replace=False)
    exact = exact_module._returns(walks, walks, nodes, 8, 0)
    estimate, error = estimate[nodes], error[nodes]
    scores = (estimate - exact)[:, 2:] / error[:, 2:]
    assert np.sqrt(np.median(scores**2)) < 1.0
    assert np.sqrt((((estimate - exact)[:, 3] / exact[:, 3]) ** 2).mean()) < 0.4
