"""Counterexamples made small: nodes, edges and weights go while the promise stays broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from graphpe._testing.contract.graphs import SmallGraph

# Bounds the time that a failing check takes.
_MOST_TRIALS = 1000


def reduce(graph: SmallGraph, still_fails: Callable[[SmallGraph], bool]) -> SmallGraph:
    """A graph that fails like the given one and of which nothing more can be left out.

    Args:
        graph: A graph that fails.
        still_fails: Whether another one does.
    """
    trials = 0
    found = True
    while found:
        found = False
        for smaller in _smaller(graph):
            trials += 1
            if trials > _MOST_TRIALS:
                return graph
            if still_fails(smaller):
                graph, found = smaller, True
                break
    return graph


def _smaller(graph: SmallGraph) -> Iterator[SmallGraph]:
    """Graphs with less of something, much less first."""
    for nodes in _runs(graph.num_nodes):
        yield _without_nodes(graph, nodes)
    for links in _runs(len(graph.links)):
        kept = [i for i in range(len(graph.links)) if i not in links]
        weights = None if graph.weights is None else tuple(graph.weights[i] for i in kept)
        yield replace(graph, links=tuple(graph.links[i] for i in kept), weights=weights)
    if graph.weights is not None:
        yield replace(graph, weights=None)
        for i, weight in enumerate(graph.weights):
            if weight != 1.0:
                yield replace(graph, weights=(*graph.weights[:i], 1.0, *graph.weights[i + 1 :]))


def _runs(count: int) -> Iterator[range]:
    """Halves, quarters, ..., single numbers of ``range(count)``."""
    size = (count + 1) // 2
    while size:
        for start in range(0, count, size):
            yield range(start, min(start + size, count))
        size = 0 if size == 1 else (size + 1) // 2


def _without_nodes(graph: SmallGraph, nodes: range) -> SmallGraph:
    kept = [node for node in range(graph.num_nodes) if node not in nodes]
    number = {node: new for new, node in enumerate(kept)}
    links = [i for i, (u, v) in enumerate(graph.links) if u in number and v in number]
    return SmallGraph(
        len(kept),
        tuple((number[graph.links[i][0]], number[graph.links[i][1]]) for i in links),
        None if graph.weights is None else tuple(graph.weights[i] for i in links),
        graph.is_directed,
    )
