"""Cycles by matrix products: brute force, closed forms, and the limits of float64."""

from __future__ import annotations

import itertools
from math import comb, factorial

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphpe.linalg.structure import cycle_quotients
from graphpe.linalg.structure.cycle_quotients import (
    complete_4_maps,
    count_cycles_densely,
    quotients,
    steps_of_dense_count,
)

ALL_LENGTHS = (3, 4, 5, 6, 7, 8)


def stack_of(*graphs: networkx.Graph) -> torch.Tensor:
    return torch.stack([torch.from_numpy(networkx.to_numpy_array(graph)) for graph in graphs])


@given(st.integers(1, 11), st.floats(0.0, 0.6), st.integers(0, 10**6))
@settings(max_examples=30)
def test_as_networkx(n: int, p: float, seed: int) -> None:
    graph = networkx.gnp_random_graph(n, p, seed=seed)
    counts, exact = count_cycles_densely(stack_of(graph), ALL_LENGTHS)
    wanted = np.zeros((n, len(ALL_LENGTHS)))
    for cycle in networkx.simple_cycles(graph, length_bound=8):
        wanted[cycle, len(cycle) - 3] += 1
    assert exact.all()
    np.testing.assert_array_equal(counts[0], wanted)


@pytest.mark.parametrize("n", [8, 20, 60])
def test_complete_graphs(n: int) -> None:
    counts, exact = count_cycles_densely(stack_of(networkx.complete_graph(n)), ALL_LENGTHS)
    wanted = [comb(n - 1, length - 1) * factorial(length - 1) // 2 for length in ALL_LENGTHS]
    assert exact.all()
    assert counts[0, n // 2].tolist() == wanted


def test_petersen_graph() -> None:
    counts, _ = count_cycles_densely(stack_of(networkx.petersen_graph()), ALL_LENGTHS)
    assert (counts[0].sum(0) / torch.tensor(ALL_LENGTHS)).tolist() == [0, 0, 12, 10, 0, 15]


def test_counts_beyond_float64_are_called_inexact() -> None:
    stack = stack_of(networkx.complete_graph(250), networkx.cycle_graph(250))
    _, exact = count_cycles_densely(stack, (8,))
    assert exact.tolist() == [False, True]


def test_stacks_are_cut_into_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = stack_of(*(networkx.gnp_random_graph(9, 0.5, seed=seed) for seed in range(5)))
    wanted, _ = count_cycles_densely(stack, ALL_LENGTHS)
    monkeypatch.setattr(cycle_quotients, "_CACHED_ENTRIES", 2 * 81)
    assert torch.equal(count_cycles_densely(stack, ALL_LENGTHS)[0], wanted)


def test_quotients_of_short_cycles() -> None:
    assert quotients(3) == ((((0, 1), (0, 2), (1, 2)), 1),)
    four = dict(quotients(4))
    assert four[((0, 1),)] == 1  # both pairs of opposite nodes together
    assert four[((0, 1), (0, 2))] == -1  # the two nodes beside the root together
    assert four[((0, 1), (1, 2))] == -1  # the root and the node opposite


@pytest.mark.parametrize("length", ALL_LENGTHS)
def test_maps_of_each_quotient_by_brute_force(length: int) -> None:
    graph = networkx.gnp_random_graph(5, 0.7, seed=3)
    adjacency = networkx.to_numpy_array(graph)
    maps = cycle_quotients._RootedMaps(torch.from_numpy(adjacency)[None])
    for edges, _ in quotients(length):
        others = max(max(edge) for edge in edges)
        if others > 5:
            continue
        images = np.array(list(itertools.product(range(5), repeat=others + 1)))
        kept = np.prod([adjacency[images[:, a], images[:, b]] for a, b in edges], axis=0)
        wanted = np.bincount(images[:, 0], weights=kept, minlength=5)
        np.testing.assert_array_equal(maps.count(edges)[0], wanted)


def test_maps_of_the_complete_graph_with_4_nodes() -> None:
    counts = complete_4_maps(stack_of(networkx.complete_graph(6), networkx.cycle_graph(6)))
    assert counts.tolist() == [[5 * 4 * 3] * 6, [0] * 6]


def test_no_nodes_and_no_edges() -> None:
    for n in (0, 1, 3):
        counts, exact = count_cycles_densely(torch.zeros(2, n, n, dtype=torch.float64), (3, 8))
        assert counts.shape == (2, n, 2)
        assert not counts.any()
        assert exact.all()


def test_the_estimate_of_costs_grows() -> None:
    steps = [steps_of_dense_count(n, ALL_LENGTHS) for n in (10, 100, 1000)]
    assert steps == sorted(steps)
    assert steps_of_dense_count(100, (3, 4)) < steps_of_dense_count(100, (8,))
