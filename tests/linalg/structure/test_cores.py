"""Core numbers against networkx, many graphs at once."""

from __future__ import annotations

import networkx
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure.cores import core_numbers
from graphpe.linalg.structure.neighbors import Neighbors


@given(
    st.integers(0, 25),
    st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 10**6)), min_size=1, max_size=5),
)
def test_as_networkx(n: int, settings: list[tuple[float, int]]) -> None:
    graphs = [networkx.gnp_random_graph(n, p, seed=seed) for p, seed in settings]
    stack = torch.stack([torch.from_numpy(networkx.to_numpy_array(graph)) for graph in graphs])
    core = core_numbers(Neighbors.of_stack(stack)).view(len(graphs), n)
    for row, graph in zip(core, graphs, strict=True):
        wanted = networkx.core_number(graph)
        assert row.tolist() == [wanted[node] for node in range(n)]


def test_closed_forms() -> None:
    for graph, core in (
        (networkx.complete_graph(7), 6),
        (networkx.cycle_graph(7), 2),
        (networkx.path_graph(7), 1),
        (networkx.complete_bipartite_graph(3, 4), 3),
        (networkx.empty_graph(7), 0),
    ):
        stack = torch.from_numpy(networkx.to_numpy_array(graph))[None]
        assert core_numbers(Neighbors.of_stack(stack)).tolist() == [core] * 7
