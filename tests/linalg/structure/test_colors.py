"""Weisfeiler-Leman colours: the partition of networkx, and numbers that never change."""

from __future__ import annotations

import itertools

import networkx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure.colors import mix, weisfeiler_leman_colors
from graphpe.linalg.structure.neighbors import Neighbors


def stack_of(*graphs: networkx.Graph) -> torch.Tensor:
    return torch.stack([torch.from_numpy(networkx.to_numpy_array(graph)) for graph in graphs])


def refined(stack: torch.Tensor, rounds: int) -> list[int]:
    """Colours by definition: tuples numbered over all graphs of the stack."""
    color = {(g, v): 0 for g in range(len(stack)) for v in range(stack.shape[1])}
    for _ in range(rounds):
        seen = {
            (g, v): (
                color[g, v],
                tuple(sorted(color[g, int(u)] for u in stack[g, v].nonzero().flatten())),
            )
            for g, v in color
        }
        number = {pair: i for i, pair in enumerate(sorted(set(seen.values())))}
        color = {node: number[pair] for node, pair in seen.items()}
    return [color[g, v] for g in range(len(stack)) for v in range(stack.shape[1])]


@given(
    st.integers(1, 14),
    st.lists(st.tuples(st.floats(0.0, 0.6), st.integers(0, 10**6)), min_size=1, max_size=4),
    st.integers(0, 5),
)
def test_the_partition_is_that_of_the_definition(
    n: int, settings: list[tuple[float, int]], rounds: int
) -> None:
    stack = stack_of(*(networkx.gnp_random_graph(n, p, seed=seed) for p, seed in settings))
    colors = weisfeiler_leman_colors(Neighbors.of_stack(stack), rounds).tolist()
    wanted = refined(stack, rounds)
    for a, b in itertools.combinations(range(len(colors)), 2):
        assert (colors[a] == colors[b]) == (wanted[a] == wanted[b])


@pytest.mark.filterwarnings("ignore:The hashes produced for graphs")
def test_the_partition_is_that_of_networkx() -> None:
    """Without networkx's edge or node labels; its round r is ours, across two graphs."""
    graphs = [networkx.gnp_random_graph(15, 0.15, seed=seed) for seed in range(2)]
    for rounds in (1, 2, 3):
        ours = weisfeiler_leman_colors(Neighbors.of_stack(stack_of(*graphs)), rounds).tolist()
        theirs = []
        for graph in graphs:
            degree = {node: str(graph.degree(node)) for node in graph}
            networkx.set_node_attributes(graph, degree, "degree")
            hashes = networkx.weisfeiler_lehman_subgraph_hashes(
                graph, node_attr="degree", iterations=rounds, digest_size=16
            )
            theirs += [tuple([degree[node], *hashes[node]][:rounds]) for node in range(15)]
        pairs = set(zip(ours, theirs, strict=True))
        assert len(pairs) == len(set(ours)) == len(set(theirs))


def test_the_numbers_are_fixed() -> None:
    """They are categories of trained networks: no process and no version may give others."""
    colors = weisfeiler_leman_colors(Neighbors.of_stack(stack_of(networkx.path_graph(3))), 2)
    assert colors.tolist() == [-3350137536739701687, 747893996339636658, -3350137536739701687]


def test_regular_graphs_have_one_color() -> None:
    two_triangles = networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(3))
    stack = stack_of(networkx.cycle_graph(6), two_triangles)
    assert len(weisfeiler_leman_colors(Neighbors.of_stack(stack), 6).unique()) == 1


def test_mix_is_splitmix64() -> None:
    """The first outputs of the generator with seed 1234567, as published."""
    state, outputs = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        signed = state - 2**64 if state >= 2**63 else state
        outputs.append(int(mix(torch.tensor(signed))) % 2**64)
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]
