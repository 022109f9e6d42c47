"""Return probabilities of dense stacks."""

from __future__ import annotations

import math

import networkx
import pytest
import torch
from adjacency_zoo import adjacency, random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg import return_probabilities, transition_matrix


def naive(matrix, steps):
    transition = transition_matrix(matrix)
    powers = [torch.linalg.matrix_power(transition, k) for k in range(1, steps + 1)]
    diagonals = [power.diagonal(dim1=-2, dim2=-1) for power in powers]
    return torch.stack(diagonals, -1) if powers else matrix.new_zeros(*matrix.shape[:2], 0)


@given(random_adjacency(), st.integers(0, 26))
def test_equals_matrix_powers(matrix, steps):
    got = return_probabilities(matrix, steps)
    torch.testing.assert_close(got, naive(matrix, steps), rtol=0, atol=1e-14)


@given(random_adjacency(directed=True), st.integers(0, 26))
def test_equals_matrix_powers_of_directed_graphs(matrix, steps):
    got = return_probabilities(matrix, steps)
    torch.testing.assert_close(got, naive(matrix, steps), rtol=0, atol=1e-14)


@given(random_adjacency())
def test_scaled_weights_change_nothing(matrix):
    got = return_probabilities(0.3 * matrix, 12)
    torch.testing.assert_close(got, return_probabilities(matrix, 12), rtol=0, atol=1e-14)


def test_closed_forms():
    n, steps = 7, 20
    k = torch.arange(1, steps + 1, dtype=torch.float64)
    complete = return_probabilities(adjacency(networkx.complete_graph(n)), steps)
    expected = (1 + (n - 1) * (-1 / (n - 1)) ** k) / n
    torch.testing.assert_close(complete, expected.expand(1, n, -1), rtol=0, atol=1e-14)

    # a walk on a long cycle, seen for fewer steps than its length, is one on the integers
    cycle = return_probabilities(adjacency(networkx.cycle_graph(steps + 2)), steps)
    expected = [math.comb(j, j // 2) / 2**j if j % 2 == 0 else 0.0 for j in range(1, steps + 1)]
    torch.testing.assert_close(cycle[0, 0], torch.tensor(expected).double(), rtol=0, atol=1e-14)

    directed_cycle = adjacency(networkx.cycle_graph(3, create_using=networkx.DiGraph))
    assert return_probabilities(directed_cycle, 7)[0, 0].tolist() == [0, 0, 1, 0, 0, 1, 0]
    directed_path = adjacency(networkx.path_graph(5, create_using=networkx.DiGraph))
    assert not return_probabilities(directed_path, 7).any()


def test_isolated_nodes_and_loops():
    """B35: single nodes and nodes without edges have 0; a loop alone keeps the walk."""
    matrix = torch.zeros(1, 3, 3, dtype=torch.float64)
    matrix[0, 1, 1] = 2.5
    assert return_probabilities(matrix, 4)[0].tolist() == [[0.0] * 4, [1.0] * 4, [0.0] * 4]


def test_values_stay_in_the_unit_interval():
    probabilities = return_probabilities(random_stack(200, 5, density=0.6), 40)
    assert float(probabilities.min()) >= 0
    assert float(probabilities.max()) <= 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 24, 37, 64, 100])
def test_same_bytes_whatever_the_stack(n, dtype):
    """Also across the borders of the parts that a stack is cut into, and for other alignments."""
    matrix = random_stack(90 if n < 30 else 12, n)
    result = return_probabilities(matrix, 20, dtype)
    for part in (slice(0, 1), slice(3, 4), slice(2, 9), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(return_probabilities(matrix[part].clone(), 20, dtype), result[part])
    one_more = torch.empty(matrix.numel() + 1, dtype=torch.float64)[1:].view_as(matrix)
    one_more.copy_(matrix)
    assert torch.equal(return_probabilities(one_more, 20, dtype), result)
    assert torch.equal(return_probabilities(matrix.flip(0), 20, dtype), result.flip(0))


def test_directed_neighbours_in_a_stack_change_nothing():
    matrix = random_stack(8, 9)
    matrix[[2, 5, 6]] = matrix[[2, 5, 6]].triu()
    result = return_probabilities(matrix, 9)
    torch.testing.assert_close(result, naive(matrix, 9), rtol=0, atol=1e-14)
    for i in range(8):
        assert torch.equal(return_probabilities(matrix[i : i + 1], 9), result[i : i + 1])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_empty_and_tiny_stacks(shape, steps):
    matrix = torch.zeros(shape, dtype=torch.float64)
    assert return_probabilities(matrix, steps).shape == (*shape[:2], steps)


def test_bad_input():
    with pytest.raises(ValueError, match="steps is -1"):
        return_probabilities(random_stack(1, 3), -1)
    matrix = random_stack(3, 4)
    matrix[1, 2, 2] = math.inf
    with pytest.raises(ValueError, match="matrix 1 of the stack"):
        return_probabilities(matrix, 3)
