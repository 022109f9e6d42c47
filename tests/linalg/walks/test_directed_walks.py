"""Walks that stay at sinks, dense and sparse, against powers of a matrix made edge by edge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from adjacency_zoo import random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphpe.linalg import transition_matrix
from graphpe.linalg.large import directed_walks as sparse
from graphpe.linalg.walks.directed_walks import arrivals, with_loops_at_sinks


def transition(matrix: Tensor) -> np.ndarray:
    """Row by row: the shares of the outgoing weights, or a loop."""
    result = matrix[0].numpy().copy()
    for node, row in enumerate(result):
        if row.sum() == 0:
            row[node] = 1.0
        row /= row.sum()
    return result


@given(random_adjacency(directed=True))
def test_every_row_sums_to_one(matrix: Tensor) -> None:
    looped = with_loops_at_sinks(matrix)
    sums = transition_matrix(looped).sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-13)
    np.testing.assert_allclose(transition_matrix(looped)[0], transition(matrix), atol=1e-15)
    large = sparse.with_loops_at_sinks(sp.csr_array(matrix[0].numpy()))
    np.testing.assert_array_equal(large.toarray(), looped[0])


@given(random_adjacency(max_nodes=15, directed=True), st.integers(1, 9))
def test_arrivals_are_column_sums_of_powers(matrix: Tensor, walk_length: int) -> None:
    looped = with_loops_at_sinks(matrix)
    got = arrivals(looped, walk_length)[0]
    powers = [np.linalg.matrix_power(transition(matrix), k + 1) for k in range(walk_length)]
    np.testing.assert_allclose(got, np.stack([p.sum(0) for p in powers], -1), atol=1e-12)
    np.testing.assert_allclose(got.sum(0), len(got), atol=1e-11)  # no walk is lost
    large = sparse.arrivals(sp.csr_array(looped[0].numpy()), walk_length)
    np.testing.assert_allclose(large, got, atol=1e-12)


@given(random_adjacency(max_nodes=15, directed=True), st.floats(0.02, 1.0))
def test_sparse_arrivals_with_restart_solve_the_equation(matrix: Tensor, restart: float) -> None:
    looped = with_loops_at_sinks(matrix)[0].numpy()
    got = sparse.arrivals(sp.csr_array(looped), 2, restart)[:, 2]
    going_on = (1 - restart) * transition(matrix)
    wanted = np.linalg.solve(np.eye(len(got)) - going_on.T, np.full(len(got), restart))
    np.testing.assert_allclose(got, wanted, atol=2e-8)


def test_walks_that_no_loop_keeps_are_lost() -> None:
    path = torch.diag_embed(torch.ones(1, 3).double(), offset=1)
    assert arrivals(path, 4)[0].tolist() == [[0] * 4, [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 37, 100])
def test_same_bytes_whatever_the_stack(n: int) -> None:
    matrix = random_stack(60 if n < 30 else 8, n)
    result = arrivals(matrix, 6)
    for part in (slice(0, 1), slice(3, 4), slice(2, 7), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(arrivals(matrix[part].clone(), 6), result[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int]) -> None:
    looped = with_loops_at_sinks(torch.zeros(shape, dtype=torch.float64))
    result = arrivals(looped, 3)
    assert torch.equal(result, torch.ones(*shape[:2], 3, dtype=torch.float64))
