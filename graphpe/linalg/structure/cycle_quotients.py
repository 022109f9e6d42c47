"""Simple cycles through each node by inclusion and exclusion: a cost that does not depend on how many there are.

The maps of the cycle C_L into a graph that identify no nodes are counted from all maps (Möbius inversion in the
lattice of partitions): inj(C_L, v) = Σ_π μ(π) hom(C_L / π, v), over the partitions π of the nodes of C_L into sets
without adjacent nodes, μ(π) = Π_{S in π} (−1)^{|S|−1} (|S| − 1)!. The quotients C_L / π are small graphs, rooted at
the set of the first node. Up to L = 8 all but K4 fall apart by taking away nodes with at most two neighbours, so that
matrix products count their homomorphisms.

Paper: Alon, Yuster and Zwick, "Finding and counting given length cycles", Algorithmica 1997 (L ≤ 7, in other words).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from math import factorial, prod

import torch
from torch import Tensor

# A graph with nodes 0 (the root), 1, 2, ... as its sorted edges.
Edges = tuple[tuple[int, int], ...]

# What is left of a part of a graph between two of its nodes u and w, as a matrix [u, w], and of one at a single node:
# "A": an edge; ("through", M, v, M'): M diag(v) M'; ("both", M, (), M'): the entrywise product;
# a vector is a product of factors (M, v): M v.
_Matrix = str | tuple
_Vector = tuple

LONGEST = 8
_COMPLETE_4: Edges = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_LARGEST_EXACT = 2.0**53
_MOST_MATRICES = 71  # kept for one stack, if all lengths are counted
_CACHED_ENTRIES = 2**16  # of a stack at a time, so 36 MiB for its matrices


def count_cycles_densely(adjacency: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The number of simple cycles of each length through each node.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric, zeros and ones, no loops.
        lengths: Numbers of edges, from 3 to 8.

    Returns:
        ``[b, n, len(lengths)]`` float64, and ``[b]`` bool: whether the numbers of a graph are exact, that is, no sum on
        the way went over 2^53.
    """
    b, n, _ = adjacency.shape
    counts = adjacency.new_empty(b, n, len(lengths))
    exact = torch.ones(b, dtype=torch.bool, device=adjacency.device)
    at_a_time = max(1, _CACHED_ENTRIES // max(1, n * n))
    for part in torch.arange(b).split(at_a_time):
        chosen = slice(int(part[0]), int(part[-1]) + 1)
        exact[chosen] = _count_stack(adjacency[chosen], lengths, counts[chosen])
    return counts, exact


def _count_stack(adjacency: Tensor, lengths: Sequence[int], counts: Tensor) -> Tensor:
    """Fills ``counts [b, n, len(lengths)]`` and returns which graphs are exact."""
    maps = _RootedMaps(adjacency)
    exact = torch.ones(len(adjacency), dtype=torch.bool, device=adjacency.device)
    for column, length in enumerate(lengths):
        total, absolute = (adjacency.new_zeros(adjacency.shape[:2]) for _ in range(2))
        for edges, coefficient in quotients(length):
            number = maps.count(edges)
            total.add_(number, alpha=coefficient)
            absolute.add_(number, alpha=abs(coefficient))
        counts[..., column] = total / 2  # a cycle through v is two maps, one in either direction
        exact &= (absolute <= _LARGEST_EXACT).all(dim=1)
    return exact


def steps_of_dense_count(n: int, lengths: Sequence[int]) -> float:
    """What `count_cycles_densely` costs for a graph of n nodes, in the steps of `count_cycles` (fitted on a CPU)."""
    matrices = _MOST_MATRICES + n if max(lengths) == LONGEST else _MOST_MATRICES // 2
    return n * n * matrices * (0.15 + 0.0003 * n)


def workspace_of_dense_count(n: int) -> int:
    """Float64 numbers that `count_cycles_densely` holds for one graph of n nodes; small ones share what there is."""
    return _MOST_MATRICES * n * n if n * n > _CACHED_ENTRIES else 0


@cache
def quotients(length: int) -> tuple[tuple[Edges, int], ...]:
    """The rooted quotients of a cycle, each with the sum of μ over the partitions that give it."""
    coefficients: Counter[Edges] = Counter()
    for block in _partitions(length):
        sizes = Counter(block).values()
        edges = {tuple(sorted((block[i - 1], block[i]))) for i in range(length)}
        coefficients[_canonical(tuple(sorted(edges)))] += prod(
            (-1) ** (size - 1) * factorial(size - 1) for size in sizes
        )
    return tuple(sorted(coefficients.items()))


def _partitions(length: int) -> Iterator[tuple[int, ...]]:
    """For each partition of the nodes of a cycle without adjacent nodes in a set: the set of each node."""
    partial = [(0,)]
    for _ in range(length - 1):
        partial = [
            (*block, new) for block in partial for new in range(max(block) + 2) if new != block[-1]
        ]
    return (block for block in partial if block[-1] != 0)


@cache
def _canonical(edges: Edges) -> Edges:
    """The least numbering of a rooted graph."""
    others = range(1, max(max(edge) for edge in edges) + 1)
    return min(
        tuple(sorted(tuple(sorted((number[a], number[b]))) for a, b in edges))
        for number in ((0, *order) for order in permutations(others))
    )


class _RootedMaps:
    """Homomorphism counts of rooted graphs; products that several of them need are formed once.

    Args:
        adjacency: ``[b, n, n]``.
    """

    def __init__(self, adjacency: Tensor) -> None:
        self.adjacency = adjacency
        self.matrices: dict[_Matrix, Tensor] = {"A": adjacency}

    def count(self, edges: Edges) -> Tensor:
        """``[b, n]`` number of maps of a rooted graph that take its root to each node."""
        if edges == _COMPLETE_4:
            return complete_4_maps(self.adjacency)
        return self._vector(_factors_of_root(edges))

    def _vector(self, factors: _Vector) -> Tensor:
        result = self.adjacency.new_ones(self.adjacency.shape[:2])
        for matrix, weight in factors:
            result = result * (self._matrix(matrix) @ self._vector(weight)[..., None])[..., 0]
        return result

    def _matrix(self, matrix: _Matrix) -> Tensor:
        if matrix not in self.matrices:
            if _transposed(matrix) in self.matrices:
                return self.matrices[_transposed(matrix)].mT
            operation, first, middle, second = matrix
            if operation == "both":
                value = self._matrix(first) * self._matrix(second)
            else:
                left = self._matrix(first)
                if middle:
                    left = left * self._vector(middle)[:, None, :]
                value = left @ self._matrix(second)
            self.matrices[matrix] = value
        return self.matrices[matrix]


@cache
def _factors_of_root(edges: Edges) -> _Vector:
    """Takes away the nodes but the root, those with the fewest neighbours first, and leaves what they stood for."""
    between: dict[tuple[int, int], _Matrix] = {}
    for a, b in edges:
        between[a, b] = between[b, a] = "A"
    nodes = sorted({node for edge in edges for node in edge})
    at: dict[int, list] = {node: [] for node in nodes}

    def around(node: int) -> list[int]:
        return [other for other in nodes if (node, other) in between]

    while len(nodes) > 1:
        node = min(nodes[1:], key=lambda node: (len(around(node)), node))
        weight = tuple(sorted(at[node], key=repr))
        ends = around(node)
        if len(ends) == 1:
            at[ends[0]].append((between[ends[0], node], weight))
        elif len(ends) == 2:
            u, w = ends
            matrix = ("through", between[u, node], weight, between[node, w])
            if (u, w) in between:
                matrix = _both(between[u, w], matrix)
            between[u, w], between[w, u] = matrix, _transposed(matrix)
        else:
            raise ValueError(
                f"the graph with edges {edges} has no node with at most two neighbours"
            )
        nodes.remove(node)
        for end in ends:
            del between[end, node], between[node, end]
    return tuple(sorted(at[0], key=repr))


def _both(one: _Matrix, other: _Matrix) -> _Matrix:
    first, second = sorted((one, other), key=repr)
    return ("both", first, (), second)


def _transposed(matrix: _Matrix) -> _Matrix:
    if matrix == "A":
        return matrix
    operation, first, middle, second = matrix
    if operation == "both":
        return _both(_transposed(first), _transposed(second))
    return (operation, _transposed(second), middle, _transposed(first))


def complete_4_maps(adjacency: Tensor) -> Tensor:
    """``[b, n]`` number of maps of the complete graph with 4 nodes that take a given node of it to each node."""
    counts = adjacency.new_zeros(adjacency.shape[:2])
    for node in range(adjacency.shape[-1]):
        near = adjacency[:, node]
        inside = adjacency * near[:, :, None] * near[:, None, :]
        counts[:, node] = ((inside @ inside) * inside).sum((1, 2))
    return counts
