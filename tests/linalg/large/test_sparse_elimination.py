"""Resistances of edges by sparse elimination: closed forms, and the dense elimination that fractions vouch for."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphpe.linalg.large.edge_resistances import edge_resistances
from graphpe.linalg.large.sparse_elimination import resistances_by_elimination
from graphpe.linalg.spectra.resistance import effective_resistances

GRAPHS = {
    "two nodes": networkx.path_graph(2),
    "star": networkx.star_graph(9),
    "grid": networkx.grid_2d_graph(9, 11),
    "complete": networkx.complete_graph(12),
    "expander": networkx.random_regular_graph(4, 60, seed=1),
    "lollipop": networkx.lollipop_graph(8, 20),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("orders", [0, 30], ids=["unweighted", "weights 1e-30 to 1e30"])
def test_all_digits_agree_with_dense_elimination(name: str, orders: int) -> None:
    generator = np.random.default_rng(3)
    matrix = np.triu(networkx.to_numpy_array(GRAPHS[name], weight=None))
    matrix *= 10.0 ** generator.uniform(-orders, orders, matrix.shape)
    matrix += matrix.T
    first, second = matrix.nonzero()
    expected = effective_resistances(torch.from_numpy(matrix)[None])[0].numpy()[first, second]
    got = resistances_by_elimination(sp.csr_array(matrix), first, second)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_tree_has_the_inverse_weights() -> None:
    tree = networkx.random_labeled_tree(2000, seed=5)
    first, second = np.array(tree.edges).T
    weights = np.random.default_rng(0).uniform(0.1, 10, len(first))
    matrix = sp.coo_array((weights, (first, second)), shape=(2000, 2000))
    matrix = (matrix + matrix.T).tocsr()
    got = edge_resistances(matrix, first, second, memory_budget=2**26)
    np.testing.assert_allclose(got, 1 / weights, rtol=1e-12)


def test_a_dense_component_within_the_budget_is_done_densely() -> None:
    expander = networkx.random_regular_graph(6, 1000, seed=0)
    matrix = networkx.to_scipy_sparse_array(expander, range(1000), dtype=float, format="csr")
    first, second = np.array(expander.edges).T
    got = edge_resistances(matrix, first, second, memory_budget=2**26)
    assert got.sum() == pytest.approx(999, rel=1e-12)
    with pytest.raises(ValueError, match=r"my graph: .* component of 1,000 nodes"):
        edge_resistances(matrix, first, second, memory_budget=2**20, name="my graph")


def test_ends_in_different_components_and_loops() -> None:
    matrix = sp.csr_array(
        np.diag([1.0, 0, 0], k=1) + np.diag([1.0, 0, 0], k=-1) + np.diag([0, 0, 0, 5.0])
    )
    source, target = np.array([0, 1, 3, 3, 2]), np.array([1, 0, 3, 0, 1])
    got = edge_resistances(matrix, source, target, memory_budget=2**20)
    assert got.tolist() == [1.0, 1.0, 0.0, np.inf, np.inf]
