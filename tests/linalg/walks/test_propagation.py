"""Propagation operators and normalised trajectories, against their definitions."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
import scipy.linalg
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from graphpe.graphs import GraphBatch
from graphpe.linalg.large.propagation import sparse_propagation_matrix
from graphpe.linalg.walks.propagation import check_propagation, propagation_matrix, trajectory

OPERATORS = ["sym", "sym-loops", "laplacian", "walk"]


def reference(adjacency: np.ndarray, operator: str) -> np.ndarray:
    """The operator entry by entry."""
    n = len(adjacency)
    a = adjacency + np.eye(n) if operator == "sym-loops" else adjacency.copy()
    if operator == "laplacian":
        np.fill_diagonal(a, 0.0)
    degree = a.sum(1)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if a[i, j] > 0:
                scale = degree[i] if operator == "walk" else np.sqrt(degree[i] * degree[j])
                result[i, j] = a[i, j] / scale
    return np.diag((degree > 0) * 1.0) - result if operator == "laplacian" else result


@pytest.mark.parametrize("operator", OPERATORS)
@given(data=random_graphs(max_nodes=15))
def test_operators_dense_and_sparse(operator: str, data: Data) -> None:
    wanted = reference(adjacency_matrix(data), operator)
    dense = torch.from_numpy((adjacency_matrix(data) + adjacency_matrix(data).T) / 2)[None]
    np.testing.assert_allclose(propagation_matrix(dense, operator)[0], wanted, atol=1e-12)
    (large,) = GraphBatch.of(data).large(0, 2**20)
    sparse = sparse_propagation_matrix(large.undirected_adjacency, operator)
    np.testing.assert_allclose(sparse.toarray(), wanted, atol=1e-12)


def test_the_laplacian_is_that_of_networkx() -> None:
    karate = networkx.karate_club_graph()
    wanted = networkx.normalized_laplacian_matrix(karate).toarray()
    adjacency = torch.from_numpy(networkx.to_numpy_array(karate))[None]
    np.testing.assert_allclose(propagation_matrix(adjacency, "laplacian")[0], wanted, atol=1e-12)


def run(adjacency: np.ndarray, start: Tensor, steps: int, normalization: str) -> np.ndarray:
    """``[P + 1, n, k]`` of one trajectory of one graph."""
    matrix = torch.from_numpy(adjacency)
    n, k = start.shape
    result = start.new_empty(1, n, 1, steps + 1, k)
    trajectory(
        start[None, :, None],
        lambda features: (matrix @ features.flatten(2)).view_as(features),
        normalization,
        result,
    )
    return result[0, :, 0].transpose(0, 1).numpy()


@pytest.mark.parametrize("operator", OPERATORS)
def test_l2_is_power_iteration(operator: str) -> None:
    for data in zoo().values():
        matrix = reference(adjacency_matrix(data), operator)
        start = torch.randn(data.num_nodes, 4, dtype=torch.float64)
        got = run(matrix, start, 3, "l2")
        wanted = start.numpy()
        np.testing.assert_array_equal(got[0], wanted)
        for step in range(1, 4):
            wanted = matrix @ wanted
            norm = np.linalg.norm(wanted, axis=0, keepdims=True)
            wanted = np.divide(wanted, norm, out=np.zeros_like(wanted), where=norm > 1e-12)
            np.testing.assert_allclose(got[step], wanted, atol=1e-10)


def test_qr_is_subspace_iteration() -> None:
    """Against LAPACK through scipy, where the columns are independent."""
    matrix = reference(networkx.to_numpy_array(networkx.karate_club_graph()), "sym-loops")
    start = torch.randn(34, 6, dtype=torch.float64)
    got = run(matrix, start, 5, "qr")
    wanted = start.numpy()
    for step in range(1, 6):
        q, r = scipy.linalg.qr(matrix @ wanted, mode="economic")
        wanted = q * np.sign(np.diag(r))
        np.testing.assert_allclose(got[step], wanted, atol=1e-10)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_qr_keeps_what_is_independent(operator: str, columns: int) -> None:
    """Whatever the rank: the first j columns span what they span before, orthonormal or zero."""
    for data in zoo().values():
        matrix = reference(adjacency_matrix(data), operator)
        got = run(matrix, torch.randn(data.num_nodes, columns, dtype=torch.float64), 4, "qr")
        for before, after in itertools.pairwise(got):
            gram = after.T @ after
            np.testing.assert_allclose(gram, np.diag(np.diag(gram).round()), atol=1e-10)
            spread = matrix @ before
            # diag(R) > 0, or the column is zero
            assert (np.diag(after.T @ spread)[np.diag(gram) > 0.5] > 0).all()
            for j in range(1, columns + 1):
                part, basis = spread[:, :j], after[:, :j]
                np.testing.assert_allclose(basis @ (basis.T @ part), part, atol=1e-9)
                rank = np.linalg.matrix_rank(part, tol=1e-8) if part.size else 0
                assert round(np.trace(gram[:j, :j])) == rank


@given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 2**20))
def test_rounding_does_not_become_a_feature(n: int, k: int, seed: int) -> None:
    """The Laplacian of a regular graph maps constants to zero but for rounding."""
    matrix = reference(np.ones((n, n)) - np.eye(n), "laplacian")
    start = torch.randn(n, k, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    start[:, 0] = 0.1
    for normalization in ("l2", "qr"):
        assert not run(matrix, start, 2, normalization)[1:, :, 0].any()


def test_walks_on_a_directed_path_end() -> None:
    data = graph(4, [(0, 1), (1, 2), (2, 3)], directed=True)
    matrix = reference(adjacency_matrix(data), "walk")
    got = run(matrix, torch.randn(4, 2, dtype=torch.float64), 4, "l2")
    assert [bool(step.any()) for step in got] == [True, True, True, True, False]


@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_a_graph_has_the_same_bytes_in_any_stack(normalization: str) -> None:
    n, k = 7, 9  # some are deficient (k > n), some are not connected
    adjacency = (torch.rand(20, n, n, dtype=torch.float64) < 0.2).double()
    adjacency = torch.maximum(adjacency, adjacency.mT)
    matrix = propagation_matrix(adjacency, "sym")
    start = torch.randn(20, n, 2, k, dtype=torch.float64)

    def together(chosen: slice) -> Tensor:
        result = start[chosen].new_empty(len(start[chosen]), n, 2, 6, k)
        trajectory(
            start[chosen],
            lambda features: (matrix[chosen] @ features.flatten(2)).view_as(features),
            normalization,
            result,
        )
        return result

    everything = together(slice(None))
    assert torch.equal(everything[:, :, :, 0], start)
    for number in range(20):
        alone = together(slice(number, number + 1))[0]
        assert torch.equal(alone, everything[number])


@pytest.mark.parametrize(
    ("operator", "normalization", "message"),
    [("rw", "l2", "operator is 'rw'; it must be"), ("sym", "L2", "normalization is 'L2'; it must")],
)
def test_unknown_choices(operator: str, normalization: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_propagation(operator, normalization)
