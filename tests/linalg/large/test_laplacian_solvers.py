"""Solvers of L x = b."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from graphpe.linalg.large.laplacian_solvers import (
    ConjugateGradients,
    GroundedFactor,
    is_cheap_to_factor,
)


def weighted(graph: networkx.Graph, seed: int = 0) -> sp.csr_array:
    generator = np.random.default_rng(seed)
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = float(generator.uniform(0.1, 10.0))
    return sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=float))


GRAPHS = {
    "path": networkx.path_graph(60),
    "grid": networkx.grid_2d_graph(8, 9),
    "star": networkx.star_graph(40),
    "random": networkx.random_regular_graph(4, 50, seed=1),
}


@pytest.mark.parametrize("solver", [GroundedFactor, ConjugateGradients])
@pytest.mark.parametrize("name", GRAPHS)
def test_solves(solver, name):
    adjacency = weighted(GRAPHS[name])
    laplacian = np.diag(adjacency.sum(1)) - adjacency.toarray()
    right = np.random.default_rng(0).standard_normal((len(laplacian), 3))
    right -= right.mean(0)
    right[:, 1] = 0.0
    solution = solver(adjacency)(right)
    np.testing.assert_allclose(laplacian @ solution, right, atol=1e-9)
    assert not solution[:, 1].any()


def sparse(graph: networkx.Graph) -> sp.csr_array:
    return sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=float))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (networkx.path_graph(3000), True),
        (networkx.cycle_graph(3000), True),
        (networkx.star_graph(3000), True),
        (networkx.balanced_tree(2, 12), True),  # its envelope is huge, but it has no cycles
        (networkx.grid_2d_graph(50, 50), True),
        (networkx.random_regular_graph(8, 5000, seed=1), False),
    ],
    ids=["path", "cycle", "star", "tree", "grid", "expander"],
)
def test_long_graphs_are_factored_and_expanders_are_not(graph, expected):
    assert is_cheap_to_factor(sparse(graph), 2**29) is expected


def test_memory_limits_the_factorisation():
    """B12"""
    grid = sparse(networkx.grid_2d_graph(50, 50))
    assert not is_cheap_to_factor(grid, 2**20)
