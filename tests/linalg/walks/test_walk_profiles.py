"""Walk profiles: all walks tried one by one, and the Fourier identity of the magnetic adjacency."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
import torch
from adjacency_zoo import adjacency, random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphpe.linalg.walks.walk_profiles import profile_width, walk_profiles


def columns(length: int) -> list[tuple[int, int]]:
    return [(steps, k) for steps in range(1, length + 1) for k in range(steps + 1)]


def test_columns_are_counted() -> None:
    for length in range(1, 9):
        assert profile_width(length) == len(columns(length))


@given(random_adjacency(max_nodes=6, directed=True), st.integers(1, 5))
def test_sum_over_all_orders_of_the_steps(matrix: Tensor, length: int) -> None:
    got = walk_profiles(matrix, length)[0].numpy()
    forward = matrix[0].numpy()
    for column, (steps, k) in enumerate(columns(length)):
        wanted = np.zeros_like(forward)
        for chosen in itertools.combinations(range(steps), k):
            product = np.eye(len(forward))
            for step in range(steps):
                product = product @ (forward if step in chosen else forward.T)
            wanted += product
        np.testing.assert_allclose(got[..., column], wanted, rtol=1e-12, atol=1e-12)


def test_walks_one_by_one() -> None:
    """Every walk of up to three steps, by its steps along and against the edges, loops and parallel edges included."""
    edges = [(0, 1), (0, 1), (1, 2), (2, 0), (2, 2), (1, 0), (3, 2)]
    steps = [(u, v, 1) for u, v in edges] + [(v, u, 0) for u, v in edges]
    matrix = torch.zeros(1, 4, 4, dtype=torch.float64)
    for u, v in edges:
        matrix[0, u, v] += 1
    got = walk_profiles(matrix, 3)[0]
    wanted = torch.zeros_like(got)
    for length in range(1, 4):
        for walk in itertools.product(steps, repeat=length):
            if all(one[1] == other[0] for one, other in itertools.pairwise(walk)):
                k = sum(step[2] for step in walk)
                wanted[walk[0][0], walk[-1][1], columns(3).index((length, k))] += 1
    assert torch.equal(got, wanted)


@given(random_adjacency(max_nodes=12, directed=True), st.integers(1, 6))
def test_the_fourier_identity(matrix: Tensor, length: int) -> None:
    """(A_q^l)_uv = Σ_k Φ_uv(l, k) e^{i2πq(2k−l)}, and its inverse on the grid q_j = j / (2 (L + 1))."""
    matrix = (matrix > 0).double()
    profile = walk_profiles(matrix, length)[0].numpy()
    forward = matrix[0].numpy()
    grid = np.arange(length + 1) / (2 * (length + 1))
    powers = np.stack(
        [
            np.linalg.matrix_power(
                forward * np.exp(2j * np.pi * q) + forward.T * np.exp(-2j * np.pi * q), length
            )
            for q in grid
        ]
    )
    k = np.arange(length + 1)
    numbers = profile[..., -(length + 1) :]  # of walks of L steps
    phases = np.exp(2j * np.pi * grid[:, None] * (2 * k - length))
    np.testing.assert_allclose(powers, np.einsum("jk,uvk->juv", phases, numbers), atol=1e-6)
    back = np.einsum("jk,juv->uvk", phases.conj(), powers) / (length + 1)
    np.testing.assert_array_equal(back.real.round(), numbers)
    assert abs(back.imag).max() < 1e-6


def test_large_numbers_are_exact_integers() -> None:
    complete = adjacency(networkx.complete_graph(12))
    got = walk_profiles(complete, 12)[0, 0, 0]
    closed = (11**12 + 11) // 12  # closed walks of 12 steps in K_12
    wanted = [closed * len(list(itertools.combinations(range(12), k))) for k in range(13)]
    assert got[-13:].tolist() == wanted


def test_a_profile_is_the_mirror_of_the_way_back() -> None:
    matrix = torch.triu(random_stack(3, 9), 1)
    got = walk_profiles(matrix, 4)
    for column, (steps, k) in enumerate(columns(4)):
        mirror = columns(4).index((steps, steps - k))
        torch.testing.assert_close(got[..., column], got[..., mirror].mT)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 37, 100])
def test_same_bytes_whatever_the_stack(n: int) -> None:
    matrix = random_stack(60 if n < 30 else 8, n)
    result = walk_profiles(matrix, 4)
    for part in (slice(0, 1), slice(3, 4), slice(2, 7), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(walk_profiles(matrix[part].clone(), 4), result[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int]) -> None:
    result = walk_profiles(torch.zeros(shape, dtype=torch.float64), 3)
    assert result.shape == (*shape, 9)
    assert not result.any()
