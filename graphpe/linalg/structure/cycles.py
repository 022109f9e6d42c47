"""Simple cycles through each node, counted by meeting halfway.

Nodes are ranked, those of high degree first. A cycle of length L belongs to the first of its nodes in this rank, its
root r, and falls into two paths from r, of ⌈L/2⌉ and ⌊L/2⌋ edges, that meet in the node opposite and share no other.
So it is enough to list paths of half the length that stay behind their root, which few do even where the degrees are
large, and to join those that end in the same node. All graphs and roots are handled at once, in chunks of bounded
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphpe.linalg.structure.cores import peel
from graphpe.linalg.structure.neighbors import Neighbors
from graphpe.ragged import ragged_arange

_CHUNK = 2**18  # paths, or pairs of them, at a time: some 30 MiB
MOST_PATHS_OF_A_ROOT = 2**20  # held at once for one root, some 120 MiB: its paths are not split


def count_cycles(
    neighbors: Neighbors, lengths: Sequence[int], graph: Tensor, most_steps: Tensor
) -> tuple[Tensor, Tensor]:
    """The number of simple cycles of each length through each node, exact.

    Args:
        neighbors: The graphs.
        lengths: Numbers of edges, each at least 3.
        graph: ``[N]`` the graph of each node, from 0 to G − 1.
        most_steps: ``[G]`` float64: a graph that takes more steps (paths listed and pairs of paths compared), or has a
            root with more than `MOST_PATHS_OF_A_ROOT`, is given up; with infinity never. One step takes about 50 ns
            on a CPU.

    Returns:
        ``[N, len(lengths)]`` int64, and ``[G]`` float64 steps taken, infinite for a graph with too many paths from a
        root. Where they are above ``most_steps`` the graph was given up, and its counts are meaningless.
    """
    search = _Search(neighbors, graph, most_steps)
    counts = torch.zeros(
        (len(lengths), neighbors.num_nodes), dtype=torch.int64, device=graph.device
    )
    half = (max(lengths) + 1) // 2
    for roots in search.chunks_of_roots(half):
        paths = search.paths(roots, half)
        for count, length in zip(counts, lengths, strict=True):
            search.join(paths[(length + 1) // 2], paths[length // 2], count)
    return counts[:, search.rank].T, search.steps


@dataclass(frozen=True)
class _Paths:
    """Paths with the same number of edges, in the order of (root, end), with the ranks of their nodes."""

    nodes: list[Tensor]  # root, ..., end; each [paths]
    key: Tensor  # [paths] root * N + end, ascending

    @property
    def inner(self) -> list[Tensor]:
        return self.nodes[1:-1]


class _Search:
    """The state of `count_cycles`: graphs in the order of rank, and the steps spent on each.

    Args:
        neighbors, graph, most_steps: As in `count_cycles`.
    """

    def __init__(self, neighbors: Neighbors, graph: Tensor, most_steps: Tensor) -> None:
        neighbors = _without_trees(neighbors)
        n = neighbors.num_nodes
        order = torch.argsort(neighbors.degree, descending=True, stable=True)
        self.rank = torch.argsort(order)
        self.n = n
        self.graph = graph[order]
        self.edges = (self.rank[neighbors.source] * n + self.rank[neighbors.target]).sort().values
        self.target = self.edges % max(1, n)
        self.degree = neighbors.degree[order]
        self.end = self.degree.cumsum(0)
        self.steps = torch.zeros_like(most_steps)
        self.most_steps = most_steps

    def chunks_of_roots(self, half: int) -> Iterator[Tensor]:
        """Roots in groups with about `_CHUNK` paths together, those given up by then left out."""
        walks = torch.ones(self.n, dtype=torch.float64, device=self.graph.device)
        source = self.edges // max(1, self.n)
        for _ in range(half):  # at least as many walks as paths behind the root
            walks = torch.zeros_like(walks).index_add_(0, source, walks[self.target])
        roots = (self.degree > 0).nonzero().flatten()
        for chunk in _chunks(walks[roots]):
            given_up = self.is_given_up
            if bool(given_up.all()):
                return
            yield roots[chunk][~given_up[self.graph[roots[chunk]]]]

    @property
    def is_given_up(self) -> Tensor:
        return self.steps > self.most_steps

    def paths(self, roots: Tensor, half: int) -> list[_Paths]:
        """The paths of 0, ..., ``half`` edges from some roots through nodes behind them."""
        nodes = [roots]
        levels = [_Paths(nodes, roots)]
        for _ in range(half):
            root, last = nodes[0], nodes[-1]
            first = torch.searchsorted(self.edges, last * self.n + root, right=True)
            count = self.end[last] - first
            self._spend(root, count, most=MOST_PATHS_OF_A_ROOT)
            count[self.is_given_up[self.graph[root]]] = 0
            path, offset = ragged_arange(count)
            new = self.target[first[path] + offset]
            nodes = [node[path] for node in nodes]
            kept = torch.ones_like(new, dtype=torch.bool)
            for node in nodes[1:-1]:  # the root is before all others, and there are no loops
                kept &= node != new
            nodes = [node[kept] for node in (*nodes, new)]
            key, order = (nodes[0] * self.n + nodes[-1]).sort()
            levels.append(_Paths([node[order] for node in nodes], key))
        return levels

    def join(self, longer: _Paths, shorter: _Paths, count: Tensor) -> None:
        """Adds the cycles of pairs of paths with equal ends to the count ``[N]`` of each of their nodes."""
        end = torch.searchsorted(shorter.key, longer.key, right=True)
        if longer is shorter:  # pairs of different paths, in one order
            start = torch.arange(1, len(end) + 1, device=end.device)
        else:
            start = torch.searchsorted(shorter.key, longer.key)
        partners = end - start
        self._spend(longer.nodes[0], partners)
        partners = partners.masked_fill(self.is_given_up[self.graph[longer.nodes[0]]], 0)
        for chunk in _chunks(partners):
            row, offset = ragged_arange(partners[chunk])
            one = chunk[row]
            other = start[one] + offset
            if longer is not shorter:  # each cycle comes once in either direction
                forward = longer.nodes[1][one] < shorter.nodes[1][other]
                one, other = one[forward], other[forward]
            disjoint = torch.ones_like(one, dtype=torch.bool)
            for left in longer.inner:
                for right in shorter.inner:
                    disjoint &= left[one] != right[other]
            one, other = one[disjoint], other[disjoint]
            on_cycle = [node[one] for node in longer.nodes]
            on_cycle += [node[other] for node in shorter.inner]
            nodes = torch.cat(on_cycle)
            count.index_add_(0, nodes, torch.ones_like(nodes))

    def _spend(self, root: Tensor, steps: Tensor, most: int | None = None) -> None:
        """Books steps to graphs; those of a root with more than ``most`` are given up."""
        graph = self.graph[root]
        self.steps.index_add_(0, graph, steps.to(self.steps.dtype))
        if most is not None and int(steps.sum()) > most:
            of_root = torch.zeros(self.n, dtype=steps.dtype, device=steps.device)
            of_root.index_add_(0, root, steps)
            self.steps[self.graph[of_root > most]] = torch.inf


def _without_trees(neighbors: Neighbors) -> Neighbors:
    """The edges of the 2-core: no cycle has others."""
    left = torch.ones(neighbors.num_nodes, dtype=torch.bool, device=neighbors.source.device)
    peel(neighbors, neighbors.degree.clone(), left, 1)
    return neighbors.within(left)


def _chunks(sizes: Tensor) -> Iterator[Tensor]:
    """Positions of non-empty items in groups, each with at most `_CHUNK` in sizes or a single item."""
    positions = sizes.nonzero().flatten()
    ends = sizes[positions].cumsum(0)
    first, done = 0, 0
    while first < len(positions):
        last = int(torch.searchsorted(ends, done + _CHUNK, right=True))
        last = max(last, first + 1)
        yield positions[first:last]
        done = ends[last - 1]
        first = last
