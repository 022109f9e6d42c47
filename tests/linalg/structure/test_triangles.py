"""Triangles, dense and sparse, against networkx."""

from __future__ import annotations

import networkx
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure.neighbors import Neighbors
from graphpe.linalg.structure.triangles import sparse_triangles, triangles


@given(st.integers(0, 30), st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_as_networkx(n: int, p: float, seed: int) -> None:
    graph = networkx.gnp_random_graph(n, p, seed=seed)
    wanted = [networkx.triangles(graph)[node] for node in range(n)]
    stack = torch.from_numpy(networkx.to_numpy_array(graph))[None]
    assert triangles(stack)[0].tolist() == wanted
    assert sparse_triangles(Neighbors.of_stack(stack)).tolist() == wanted


def test_more_graphs_than_fit_into_a_part() -> None:
    complete = torch.from_numpy(networkx.to_numpy_array(networkx.complete_graph(100)))
    stack = complete.repeat(10, 1, 1)
    stack[7] = 0
    wanted = [99 * 98 / 2] * 10
    wanted[7] = 0
    assert triangles(stack)[:, 3].tolist() == wanted
