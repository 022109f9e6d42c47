"""Where the nodes of directed graphs lie between sources and sinks, cycles taken as one node."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


class Condensation:
    """The acyclic graph whose nodes are the strongly connected components of a directed graph.

    Edges, and paths, are counted between components only. Any number of graphs can be given as one disconnected
    graph.

    Args:
        source: ``[e]`` node numbers; self-loops and parallel edges have no effect.
        target: ``[e]``.
        num_nodes: Number of nodes N.
    """

    def __init__(self, source: np.ndarray, target: np.ndarray, num_nodes: int) -> None:
        self._number, self._component = connected_components(
            _matrix(source, target, num_nodes), connection="strong"
        )
        source, target = self._component[source], self._component[target]
        crosses = source != target
        self._forward = _matrix(source[crosses], target[crosses], self._number)
        self._backward = self._forward.T.tocsr()

    def generations(self) -> np.ndarray:
        """``[N]`` number of edges on the longest path from a source: the topological generation."""
        return self._longest_paths(self._forward)[self._component]

    def heights(self) -> np.ndarray:
        """``[N]`` number of edges on the longest path to a sink."""
        return self._longest_paths(self._backward)[self._component]

    def depths(self) -> np.ndarray:
        """``[N]`` number of edges on the shortest path from a source."""
        depth = np.full(self._number, -1)
        frontier = np.flatnonzero(np.diff(self._backward.indptr) == 0)
        step = 0
        while len(frontier) > 0:
            depth[frontier] = step
            reached = np.unique(_neighbours(self._forward, frontier))
            frontier = reached[depth[reached] < 0]
            step += 1
        return depth[self._component]

    def _longest_paths(self, graph: sp.csr_array) -> np.ndarray:
        length = np.zeros(self._number, dtype=np.int64)
        edges_to_come = np.bincount(graph.indices, minlength=self._number)
        frontier = np.flatnonzero(edges_to_come == 0)
        step = 0
        while len(frontier) > 0:
            length[frontier] = step
            reached, times = np.unique(_neighbours(graph, frontier), return_counts=True)
            edges_to_come[reached] -= times
            frontier = reached[edges_to_come[reached] == 0]
            step += 1
        return length


def _matrix(source: np.ndarray, target: np.ndarray, num_nodes: int) -> sp.csr_array:
    matrix = sp.csr_array(
        (np.ones(len(source), dtype=bool), (source, target)), shape=(num_nodes, num_nodes)
    )
    matrix.sum_duplicates()
    return matrix


def _neighbours(graph: sp.csr_array, nodes: np.ndarray) -> np.ndarray:
    """The targets of all edges from ``nodes``, one after the other."""
    starts, counts = graph.indptr[nodes], np.diff(graph.indptr)[nodes]
    ends = counts.cumsum()
    offset = np.arange(counts.sum()) - (ends - counts).repeat(counts)
    return graph.indices[starts.repeat(counts) + offset]
