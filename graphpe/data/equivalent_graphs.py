"""Pairs of different graphs that the Weisfeiler-Leman test cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import torch
from torch_geometric.data import Data

# The skip lengths of the circular skip link graphs on 41 nodes, no two of which are isomorphic.
CSL_NODES = 41
CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)

Edges = Iterable[tuple[int, int]]


@dataclass(frozen=True)
class GraphPair:
    """Two graphs that are not isomorphic and that a Weisfeiler-Leman test takes for the same.

    Args:
        name: What the graphs are.
        group: ``"1-WL"``: colour refinement, and so message passing, does not tell them apart; ``"CSL"``: neither, of
            circular skip link graphs; ``"3-WL"``: nor does the three-dimensional test.
        first: The one; without features, edges in both directions.
        second: The other.
    """

    name: str
    group: Literal["1-WL", "CSL", "3-WL"]
    first: Data
    second: Data


def equivalent_pairs() -> list[GraphPair]:
    """All pairs: 5 of 1-WL, 45 of CSL and 9 of 3-WL.

    The Weisfeiler-Leman test of dimension 3 is the folklore one of dimension 2. Strongly regular graphs of the same
    parameters can't be told apart by it; nor can the graphs of Cai, Fürer and Immerman over K4, whose tree-width is 3.

    References:
        Cai, Fürer and Immerman, "An optimal lower bound on the number of variables for graph identification"
        (Combinatorica 1992); Murphy et al., "Relational Pooling for Graph Representations",
        https://arxiv.org/abs/1903.02541; Bouritsas et al., "Improving Graph Neural Network Expressivity via Subgraph
        Isomorphism Counting", https://arxiv.org/abs/2006.09252.
    """
    return [
        *_colour_refinement_pairs(),
        *_skip_link_pairs(),
        *_strongly_regular_pairs(),
        _cfi_pair(),
    ]


def circular_skip_link(num_nodes: int, skip: int) -> Data:
    """A cycle with a second one that joins each node to the node ``skip`` places on."""
    return _graph(
        num_nodes,
        ((node, (node + step) % num_nodes) for step in (1, skip) for node in range(num_nodes)),
    )


def _colour_refinement_pairs() -> Iterator[GraphPair]:
    def pair(name: str, num_nodes: int, first: Edges, second: Edges) -> GraphPair:
        return GraphPair(name, "1-WL", _graph(num_nodes, first), _graph(num_nodes, second))

    yield pair("hexagon and two triangles", 6, _cycle(6), [*_cycle(3), *_cycle(3, 3)])
    yield pair("octagon and two squares", 8, _cycle(8), [*_cycle(4), *_cycle(4, 4)])
    utility = product(range(3), range(3, 6))
    prism = [*_cycle(3), *_cycle(3, 3), *((node, node + 3) for node in range(3))]
    yield pair("K3,3 and the prism", 6, utility, prism)
    decalin = [*_cycle(10), (0, 5)]
    bicyclopentyl = [*_cycle(5), *_cycle(5, 5), (0, 5)]
    yield pair("decalin and bicyclopentyl", 10, decalin, bicyclopentyl)
    moebius = [*_cycle(8), *((node, node + 4) for node in range(4))]
    cube = [(a, a ^ bit) for a in range(8) for bit in (1, 2, 4) if a < a ^ bit]
    yield pair("the cube and the Möbius ladder on 8 nodes", 8, cube, moebius)


def _skip_link_pairs() -> Iterator[GraphPair]:
    for first, second in combinations(CSL_SKIPS, 2):
        yield GraphPair(
            f"CSL({CSL_NODES}, {first}) and CSL({CSL_NODES}, {second})",
            "CSL",
            circular_skip_link(CSL_NODES, first),
            circular_skip_link(CSL_NODES, second),
        )


def _strongly_regular_pairs() -> Iterator[GraphPair]:
    def pair(name: str, first: Data, second: Data) -> GraphPair:
        return GraphPair(name, "3-WL", first, second)

    torus = list(product(range(4), repeat=2))
    rook = _joined(torus, lambda a, b: (a[0] == b[0]) != (a[1] == b[1]))
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    shrikhande = _joined(torus, lambda a, b: ((a[0] - b[0]) % 4, (a[1] - b[1]) % 4) in steps)
    yield pair("the rook's graph and the Shrikhande graph, srg(16, 6, 2, 2)", rook, shrikhande)

    cyclic = [[(row + column) % 5 for column in range(5)] for row in range(5)]
    # The other Latin square of order 5, which is no multiplication table of a group.
    other = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 3, 4, 0, 1], [3, 4, 1, 2, 0], [4, 2, 0, 1, 3]]
    yield pair(
        "two Latin square graphs, srg(25, 12, 5, 6)", _latin_square(cyclic), _latin_square(other)
    )

    triangular = list(combinations(range(8), 2))
    lines = _joined(triangular, lambda a, b: len({*a, *b}) == 3)
    # Seidel switching of the lines of a graph on the 8 points gives the three graphs of Chang.
    matching = [(0, 1), (2, 3), (4, 5), (6, 7)]
    octagon = [tuple(sorted(edge)) for edge in _cycle(8)]
    cycles = [tuple(sorted(edge)) for edge in [*_cycle(3), *_cycle(5, 3)]]
    changs = [_switched(lines, triangular, chosen) for chosen in (matching, octagon, cycles)]
    names = ["T(8)", "Chang's first", "Chang's second", "Chang's third"]
    for (one, first), (two, second) in combinations(zip(names, [lines, *changs], strict=True), 2):
        yield pair(f"{one} and {two} graph, srg(28, 12, 6, 4)", first, second)


def _cfi_pair() -> GraphPair:
    name = "the graphs of Cai, Fürer and Immerman over K4"
    return GraphPair(name, "3-WL", _cfi(4, twisted=False), _cfi(4, twisted=True))


def _cfi(size: int, twisted: bool) -> Data:
    """The graph over a complete graph; twisted, one of its edges is crossed."""
    base = list(combinations(range(size), 2))
    # For each node of the base one node per even set of its edges, and two nodes per edge of the base.
    middles = [
        (node, chosen)
        for node in range(size)
        for mine in [[edge for edge in base if node in edge]]
        for number in range(0, len(mine) + 1, 2)
        for chosen in combinations(mine, number)
    ]
    ends = [(node, edge, bit) for edge in base for node in edge for bit in (0, 1)]
    place = {vertex: number for number, vertex in enumerate([*middles, *ends])}
    edges = [
        (place[node, chosen], place[node, edge, int(edge in chosen)])
        for node, chosen in middles
        for edge in base
        if node in edge
    ]
    for edge in base:
        crossed = int(twisted and edge == base[0])
        edges += [
            (place[edge[0], edge, bit], place[edge[1], edge, bit ^ crossed]) for bit in (0, 1)
        ]
    return _graph(len(place), edges)


def _latin_square(square: list[list[int]]) -> Data:
    cells = list(product(range(len(square)), repeat=2))

    def in_line(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a[0] == b[0] or a[1] == b[1] or square[a[0]][a[1]] == square[b[0]][b[1]]

    return _joined(cells, in_line)


def _switched(graph: Data, nodes: list[tuple[int, int]], chosen: list[tuple[int, ...]]) -> Data:
    """Swaps edges and non-edges between the chosen nodes and the others."""
    is_chosen = torch.tensor([node in set(chosen) for node in nodes])
    adjacency = torch.zeros(len(nodes), len(nodes), dtype=torch.bool)
    adjacency[tuple(graph.edge_index)] = True
    adjacency ^= is_chosen[:, None] != is_chosen
    return Data(edge_index=adjacency.nonzero().t().contiguous(), num_nodes=len(nodes))


def _joined(
    nodes: list[tuple[int, int]], are_joined: Callable[[tuple[int, int], tuple[int, int]], bool]
) -> Data:
    edges = ((i, j) for (i, a), (j, b) in combinations(enumerate(nodes), 2) if are_joined(a, b))
    return _graph(len(nodes), edges)


def _cycle(length: int, start: int = 0) -> list[tuple[int, int]]:
    return [(start + node, start + (node + 1) % length) for node in range(length)]


def _graph(num_nodes: int, edges: Edges) -> Data:
    one_way = torch.tensor(list(edges)).t()
    both = torch.cat([one_way, one_way.flip(0)], dim=1)
    return Data(edge_index=both.unique(dim=1), num_nodes=num_nodes)
