"""Personalised PageRank of a sparse graph towards landmarks, against the dense one."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from adjacency_zoo import random_adjacency
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphpe.linalg.large.pagerank import pagerank_to_landmarks
from graphpe.linalg.walks.pagerank import personalized_pagerank


@given(
    random_adjacency(directed=True),
    st.floats(0.02, 1.0),
    st.sampled_from([None, 1, 6]),
    st.integers(0, 40),
)
def test_equals_the_dense_one(matrix: Tensor, restart: float, steps: int | None, count: int):
    n = matrix.shape[-1]
    landmarks = np.random.default_rng(0).permutation(n)[:count]
    got = pagerank_to_landmarks(sp.csr_array(matrix[0].numpy()), landmarks, restart, steps)
    wanted = personalized_pagerank(matrix, restart, steps)[0][:, landmarks]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8)


def test_a_column_does_not_depend_on_the_others() -> None:
    graph = networkx.connected_watts_strogatz_graph(2000, 6, 0.1, seed=0)
    matrix = networkx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    landmarks = np.arange(0, 2000, 60)
    together = pagerank_to_landmarks(matrix, landmarks, 0.1, 20)
    for column in (0, 15, 16, 33):
        alone = pagerank_to_landmarks(matrix, landmarks[column : column + 1], 0.1, 20)
        np.testing.assert_array_equal(alone[:, 0], together[:, column])


@pytest.mark.parametrize("restart", [0.01, 0.3])
def test_a_long_cycle_in_closed_form(restart: float) -> None:
    """The ranks of a walk on the integers fall by a constant factor per step of distance."""
    n = 20_000
    matrix = networkx.to_scipy_sparse_array(networkx.cycle_graph(n), dtype=float, format="csr")
    got = pagerank_to_landmarks(matrix, np.array([n // 2]), restart)[:, 0]
    # the root r < 1 of r² − 2r/(1−p) + 1 = 0
    half = 1 / (1 - restart)
    factor = half - np.sqrt(half**2 - 1)
    wanted = (1 - factor) / (1 + factor) * factor ** np.abs(np.arange(n) - n // 2)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8)
