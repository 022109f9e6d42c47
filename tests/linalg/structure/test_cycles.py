"""Cycles by joining paths against networkx and closed forms, within limits."""

from __future__ import annotations

from math import comb, factorial

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure import cycles
from graphpe.linalg.structure.cycles import count_cycles
from graphpe.linalg.structure.neighbors import Neighbors

ALL_LENGTHS = (3, 4, 5, 6, 7, 8)


def stack_of(*graphs: networkx.Graph) -> torch.Tensor:
    return torch.stack([torch.from_numpy(networkx.to_numpy_array(graph)) for graph in graphs])


def count(*graphs: networkx.Graph, lengths=ALL_LENGTHS, most=1e9) -> tuple[np.ndarray, list]:
    """Counts ``[graphs, n, lengths]``, and which graphs were given up."""
    n = len(graphs[0])
    numbers = torch.arange(len(graphs)).repeat_interleave(n)
    limits = torch.full((len(graphs),), most, dtype=torch.float64)
    counts, steps = count_cycles(Neighbors.of_stack(stack_of(*graphs)), lengths, numbers, limits)
    return counts.view(len(graphs), n, len(lengths)).numpy(), (steps > limits).tolist()


def count_of_networkx(graph: networkx.Graph, lengths=ALL_LENGTHS) -> np.ndarray:
    counts = np.zeros((len(graph), len(lengths)), dtype=np.int64)
    for cycle in networkx.simple_cycles(graph, length_bound=max(lengths)):
        if len(cycle) in lengths:
            counts[cycle, lengths.index(len(cycle))] += 1
    return counts


@given(
    st.integers(1, 13),
    st.lists(st.tuples(st.floats(0.0, 0.5), st.integers(0, 10**6)), min_size=1, max_size=4),
    st.permutations(ALL_LENGTHS),
    st.integers(1, 6),
)
def test_as_networkx(
    n: int, settings: list[tuple[float, int]], lengths: list[int], number: int
) -> None:
    graphs = [networkx.gnp_random_graph(n, p, seed=seed) for p, seed in settings]
    counts, given_up = count(*graphs, lengths=tuple(lengths[:number]))
    assert not any(given_up)
    for got, graph in zip(counts, graphs, strict=True):
        np.testing.assert_array_equal(got, count_of_networkx(graph, tuple(lengths[:number])))


def test_petersen_graph() -> None:
    counts, _ = count(networkx.petersen_graph(), lengths=(3, 4, 5, 6, 7, 8, 9))
    lengths = np.array([3, 4, 5, 6, 7, 8, 9])
    assert (counts[0].sum(0) / lengths).tolist() == [0, 0, 12, 10, 0, 15, 20]
    assert (counts[0] == counts[0][:1]).all()  # all nodes are alike


def test_complete_and_bipartite_graphs() -> None:
    counts, _ = count(networkx.complete_graph(9))
    wanted = [comb(8, length - 1) * factorial(length - 1) // 2 for length in ALL_LENGTHS]
    assert counts[0][4].tolist() == wanted
    counts, _ = count(networkx.complete_bipartite_graph(4, 4))
    assert counts[0].sum(0).tolist() == [0, 4 * 36, 0, 6 * 96, 0, 8 * 72]


def test_each_long_cycle_is_one_cycle() -> None:
    for n in ALL_LENGTHS:
        counts, _ = count(networkx.cycle_graph(n))
        assert counts[0].tolist() == [[int(length == n) for length in ALL_LENGTHS]] * n


def test_graphs_beside_each_other_do_not_mix() -> None:
    graphs = [networkx.complete_graph(7), networkx.cycle_graph(7), networkx.empty_graph(7)]
    together, _ = count(*graphs)
    for got, graph in zip(together, graphs, strict=True):
        np.testing.assert_array_equal(got, count(graph)[0][0])


def test_an_expensive_graph_is_given_up_and_its_neighbors_are_not() -> None:
    graphs = [networkx.cycle_graph(12), networkx.complete_graph(12), networkx.path_graph(12)]
    counts, given_up = count(*graphs, most=2000)
    assert given_up == [False, True, False]
    np.testing.assert_array_equal(counts[0], count(graphs[0])[0][0])
    assert not counts[2].any()


def test_pairs_of_paths_are_steps() -> None:
    """Two hubs and 40 nodes between them: 40 paths of two edges from one to the other, 780 pairs."""
    counts, given_up = count(networkx.complete_bipartite_graph(2, 40), lengths=(4,), most=1000)
    assert given_up == [False]
    assert counts[0, 0] == 780
    assert count(networkx.complete_bipartite_graph(2, 40), lengths=(4,), most=700)[1] == [True]


def test_a_node_with_too_many_paths_gives_its_graph_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "MOST_PATHS_OF_A_ROOT", 100)
    _, given_up = count(networkx.complete_graph(12), networkx.cycle_graph(12))
    assert given_up == [True, False]


@pytest.mark.parametrize("chunk", [1, 7, 50])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    graphs = [networkx.gnp_random_graph(12, 0.4, seed=seed) for seed in range(3)]
    wanted, _ = count(*graphs)
    monkeypatch.setattr(cycles, "_CHUNK", chunk)
    np.testing.assert_array_equal(count(*graphs)[0], wanted)


def test_many_nodes_of_a_large_sparse_graph() -> None:
    """Keys are products of node numbers; trees and long cycles cost nothing."""
    n = 200_000
    nodes = torch.arange(n)
    source, target = torch.cat([nodes, (nodes + 1) % n]), torch.cat([(nodes + 1) % n, nodes])
    order = (source * n + target).argsort()
    neighbors = Neighbors(source[order], target[order], n)
    counts, steps = count_cycles(
        neighbors,
        (3, 4),
        torch.zeros(n, dtype=torch.int64),
        torch.tensor([1e9], dtype=torch.float64),
    )
    assert steps < 1e6
    assert not counts.any()
