"""Generations, depths and heights of directed graphs, against networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.distances.topological_order import Condensation


@st.composite
def digraphs(draw: st.DrawFn) -> networkx.DiGraph:
    """Any directed graph of 0 to 12 nodes, often with cycles and loops."""
    n = draw(st.integers(0, 12))
    node = st.integers(0, max(n - 1, 0))
    edges = draw(st.lists(st.tuples(node, node), max_size=2 * n))
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    return graph


def condensation(graph: networkx.DiGraph) -> Condensation:
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    return Condensation(edges[:, 0], edges[:, 1], len(graph))


def generations(graph: networkx.DiGraph) -> list[int]:
    """The topological generation of each node's component."""
    components = networkx.condensation(graph)
    result = [0] * len(graph)
    for number, generation in enumerate(networkx.topological_generations(components)):
        for component in generation:
            for node in components.nodes[component]["members"]:
                result[node] = number
    return result


def depths(graph: networkx.DiGraph) -> list[int]:
    """The distance of each node's component from the nearest source."""
    components = networkx.condensation(graph)
    sources = [node for node, degree in components.in_degree if degree == 0]
    distance = networkx.multi_source_dijkstra_path_length(components, sources) if sources else {}
    return [distance[components.graph["mapping"][node]] for node in graph]


@given(digraphs())
def test_any_digraph(graph: networkx.DiGraph) -> None:
    got = condensation(graph)
    assert got.generations().tolist() == generations(graph)
    assert got.depths().tolist() == depths(graph)
    assert got.heights().tolist() == generations(graph.reverse())


def test_a_shortcut_tells_depth_from_generation() -> None:
    got = condensation(networkx.DiGraph([(0, 1), (1, 2), (0, 2), (2, 3)]))
    assert got.generations().tolist() == [0, 1, 2, 3]
    assert got.depths().tolist() == [0, 1, 1, 2]
    assert got.heights().tolist() == [3, 2, 1, 0]


def test_a_cycle_counts_as_one_node() -> None:
    got = condensation(networkx.DiGraph([(0, 1), (1, 2), (2, 1), (2, 3), (3, 3)]))
    assert got.generations().tolist() == [0, 1, 1, 2]


def test_parallel_edges_change_nothing() -> None:
    source, target = np.array([0, 0, 0, 1]), np.array([1, 1, 2, 2])
    assert Condensation(source, target, 3).generations().tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_no_edges(n: int) -> None:
    none = np.zeros(0, dtype=np.int64)
    assert Condensation(none, none, n).generations().tolist() == [0] * n


def test_a_long_path_takes_linear_time() -> None:
    nodes = np.arange(30_000)
    got = Condensation(nodes[:-1], nodes[1:], len(nodes))
    assert np.array_equal(got.generations(), nodes)
