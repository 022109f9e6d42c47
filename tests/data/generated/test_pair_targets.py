"""Targets of pairs of nodes, against networkx and walks that are counted one by one."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphpe.data.generated import pair_targets

TARGETS = {
    "adjacency": pair_targets.adjacency,
    "reachability": pair_targets.reachability,
    "shortest_distance": pair_targets.shortest_distance,
    "undirected_distance": pair_targets.undirected_distance,
    "longest_distance": lambda connected: pair_targets.longest_distance(connected, 3),
    "walk_profile": lambda connected: pair_targets.walk_profile(connected, 2),
}


@st.composite
def stacks(draw, acyclic=False, largest=7):
    """``[b, n, n]`` bool: graphs of one size, with loops and two-way pairs unless acyclic."""
    b, n = draw(st.integers(1, 3)), draw(st.integers(0, largest))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    connected = random.random((b, n, n)) < draw(st.sampled_from([0.0, 0.1, 0.3, 0.6]))
    if acyclic:
        order = random.permutation(n)
        connected = np.triu(connected, 1)[:, order][:, :, order]
    return torch.from_numpy(connected)


def graphs(connected):
    return [nx.from_numpy_array(a, create_using=nx.DiGraph) for a in connected.numpy()]


def check(target, connected, expected, diagonal=None):
    """``expected(graph, u, v)`` for all pairs, but ``diagonal`` where u = v; None is left out."""
    want = torch.full(target.shape, torch.nan)
    for number, graph in enumerate(graphs(connected)):
        for u, v in product(graph, repeat=2):
            value = diagonal if u == v else expected(graph, u, v)
            if value is not None:
                want[number, u, v] = torch.as_tensor(value, dtype=torch.float32)
    assert target.dtype == torch.float32
    torch.testing.assert_close(target, want, rtol=0, atol=0, equal_nan=True)


def shortest(graph, u, v):
    return nx.shortest_path_length(graph, u, v) if nx.has_path(graph, u, v) else None


@given(stacks())
@settings(max_examples=40, deadline=None)
def test_adjacency_reachability_and_distances_are_those_of_networkx(connected):
    before = connected.clone()
    check(pair_targets.adjacency(connected), connected, lambda g, u, v: g.has_edge(u, v))
    check(pair_targets.reachability(connected), connected, nx.has_path)
    check(pair_targets.shortest_distance(connected), connected, shortest)
    check(
        pair_targets.undirected_distance(connected),
        connected,
        lambda g, u, v: shortest(g.to_undirected(), u, v),
    )
    assert torch.equal(connected, before)


@given(stacks(largest=6), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_the_longest_distance_is_that_of_all_simple_paths(connected, cutoff):
    def longest(graph, u, v):
        paths = nx.all_simple_paths(graph, u, v, cutoff=cutoff)
        return max((len(path) - 1 for path in paths), default=None)

    check(pair_targets.longest_distance(connected, cutoff), connected, longest)


@given(stacks(acyclic=True))
@settings(max_examples=40, deadline=None)
def test_the_longest_distance_without_cycles_is_that_of_all_paths(connected):
    def longest(graph, u, v):
        return max((len(path) - 1 for path in nx.all_simple_paths(graph, u, v)), default=None)

    target = pair_targets.longest_distance_acyclic(connected)
    check(target, connected, longest)
    for graph, values in zip(graphs(connected), target, strict=True):
        if graph.number_of_edges():
            assert values.nan_to_num(0).max() == nx.dag_longest_path_length(graph)


def test_a_long_path_has_no_cutoff_without_cycles():
    connected = torch.diag(torch.ones(19), 1).bool()[None]
    assert pair_targets.longest_distance_acyclic(connected)[0, 0, 19, 0] == 19
    with_cutoff = pair_targets.longest_distance(connected, 10)[0, 0, :, 0]
    assert with_cutoff[1:11].tolist() == list(range(1, 11))
    assert with_cutoff[11:].isnan().all()


@given(stacks(largest=5), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_the_walk_profile_counts_walks(connected, length):
    target = pair_targets.walk_profile(connected, length)
    want = torch.zeros(target.shape)
    for number, graph in enumerate(connected.numpy()):
        loopless = graph & ~np.eye(len(graph), dtype=bool)
        for walk in product(range(len(graph)), repeat=length + 1):
            # Each step may go along an edge or against one; with a two-way pair it may do both.
            for along in product((True, False), repeat=length):
                steps = zip(walk, walk[1:], along, strict=False)
                if all(loopless[(u, v) if forward else (v, u)] for u, v, forward in steps):
                    want[number, walk[0], walk[-1], sum(along)] += 1
    want[(want == 0).all(-1)] = torch.nan
    torch.testing.assert_close(target, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", TARGETS)
def test_no_node_and_one_node_give_no_target(name):
    for n in (0, 1):
        for value in (False, True):
            target = TARGETS[name](torch.full((2, n, n), value))
            assert target.shape == (2, n, n, 3 if name == "walk_profile" else 1)
            assert target.isnan().all()
