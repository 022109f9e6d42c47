"""Walks between all pairs of nodes, against matrix powers."""

from __future__ import annotations

import networkx
import pytest
import torch
from adjacency_zoo import adjacency, random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphpe.linalg import return_probabilities, transition_matrix
from graphpe.linalg.walks.relative_walks import walk_probabilities


@given(random_adjacency(directed=True), st.integers(1, 24))
def test_equals_matrix_powers(matrix: Tensor, walk_length: int) -> None:
    got = walk_probabilities(matrix, walk_length)
    transition = transition_matrix(matrix)
    for step in range(walk_length):
        wanted = torch.linalg.matrix_power(transition, step)
        torch.testing.assert_close(got[..., step], wanted, rtol=0, atol=1e-14)


def test_the_diagonal_is_that_of_return_probabilities() -> None:
    matrix = random_stack(20, 9)
    diagonal = walk_probabilities(matrix, 12).diagonal(dim1=1, dim2=2).mT
    wanted = return_probabilities(matrix, 11)
    torch.testing.assert_close(diagonal[..., 1:], wanted, rtol=0, atol=1e-14)


def test_a_directed_cycle_turns() -> None:
    got = walk_probabilities(adjacency(networkx.cycle_graph(5, create_using=networkx.DiGraph)), 8)
    for step in range(8):
        assert torch.equal(got[0, ..., step], torch.eye(5).double().roll(step, dims=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 24, 37, 64, 100])
def test_same_bytes_whatever_the_stack(n: int, dtype: torch.dtype) -> None:
    matrix = random_stack(60 if n < 30 else 8, n)
    result = walk_probabilities(matrix, 20, dtype)
    assert result.dtype == dtype
    for part in (slice(0, 1), slice(3, 4), slice(2, 7), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(walk_probabilities(matrix[part].clone(), 20, dtype), result[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
@pytest.mark.parametrize("walk_length", [1, 2, 5])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int], walk_length: int) -> None:
    result = walk_probabilities(torch.zeros(shape, dtype=torch.float64), walk_length)
    assert result.shape == (*shape, walk_length)
    assert result.sum() == shape[0] * shape[1]  # the identities
