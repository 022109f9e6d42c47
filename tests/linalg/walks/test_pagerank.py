"""Personalised PageRank of all pairs, against networkx and the sum that defines it."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from adjacency_zoo import adjacency, random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphpe.linalg import transition_matrix
from graphpe.linalg.walks.pagerank import personalized_pagerank


def sum_of_terms(matrix: Tensor, restart: float, steps: int) -> Tensor:
    going_on = (1 - restart) * transition_matrix(matrix)
    powers = [torch.linalg.matrix_power(going_on, step) for step in range(steps + 1)]
    return restart * torch.stack(powers).sum(0)


@given(random_adjacency(directed=True), st.floats(0.01, 1.0), st.integers(1, 40))
def test_equals_the_sum_of_its_terms(matrix: Tensor, restart: float, steps: int) -> None:
    got = personalized_pagerank(matrix, restart, steps)
    torch.testing.assert_close(got, sum_of_terms(matrix, restart, steps), rtol=0, atol=1e-13)


@given(random_adjacency(directed=True), st.floats(0.2, 1.0))
def test_all_steps_are_the_limit_of_many(matrix: Tensor, restart: float) -> None:
    got = personalized_pagerank(matrix, restart)
    wanted = personalized_pagerank(matrix, restart, 200)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-13)


@given(random_adjacency(max_nodes=12, directed=True))
def test_rows_are_those_of_networkx_up_to_walks_that_are_lost(matrix: Tensor) -> None:
    graph = networkx.from_numpy_array(matrix[0].numpy(), create_using=networkx.DiGraph)
    got = personalized_pagerank(matrix, 0.15)[0]
    for node in graph:
        ranks = networkx.pagerank(graph, 0.85, personalization={node: 1.0}, tol=1e-12, max_iter=999)
        row = got[node] / got[node].sum()
        np.testing.assert_allclose(row, [ranks[other] for other in graph], atol=1e-9)


def test_rows_sum_to_one_unless_walks_are_lost() -> None:
    sums = personalized_pagerank(adjacency(networkx.cycle_graph(6)), 0.3).sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    sums = personalized_pagerank(adjacency(networkx.cycle_graph(6)), 0.3, 4).sum(-1)
    torch.testing.assert_close(sums, torch.full_like(sums, 1 - 0.7**5))

    # one step to a sink: a walk stops at once, at the sink, or is lost
    edge = adjacency(networkx.path_graph(2, create_using=networkx.DiGraph))
    wanted = torch.tensor([[[0.3, 0.7 * 0.3], [0.0, 0.3]]]).double()
    torch.testing.assert_close(personalized_pagerank(edge, 0.3), wanted)


def test_a_walk_that_stops_at_once_stays() -> None:
    matrix = random_stack(2, 5)
    for steps in (None, 7):
        identity = torch.eye(5).double().expand(2, -1, -1)
        assert torch.equal(personalized_pagerank(matrix, 1.0, steps), identity)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 37, 100])
@pytest.mark.parametrize("steps", [None, 10])
def test_same_bytes_whatever_the_stack(n: int, steps: int | None) -> None:
    matrix = random_stack(60 if n < 30 else 8, n)
    result = personalized_pagerank(matrix, 0.1, steps)
    for part in (slice(0, 1), slice(3, 4), slice(2, 7), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(personalized_pagerank(matrix[part].clone(), 0.1, steps), result[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
@pytest.mark.parametrize("steps", [None, 1, 5])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int], steps: int | None) -> None:
    result = personalized_pagerank(torch.zeros(shape, dtype=torch.float64), 0.25, steps)
    wanted = 0.25 * torch.eye(shape[-1], dtype=torch.float64).expand(shape)
    torch.testing.assert_close(result, wanted)
