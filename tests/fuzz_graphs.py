"""A hypothesis strategy for lists of graphs of all sorts, hundreds at a time.

Hypothesis bounds what an example may draw, so it draws the kind, the size and a seed of a graph, and Python's generator
the edges and weights from these.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from graphpe._testing.contract.graphs import SmallGraph

Links = list[tuple[int, int]]

# The largest of the usual graphs; some have more nodes, and then not many times as many edges.
_USUAL_NODES = 24
_LARGEST_NODES = 150


def _pairs(n: int) -> Links:
    return [(u, v) for v in range(n) for u in range(v)]


def _some_pairs(n: int, most: int, draws: random.Random) -> Links:
    pairs = _pairs(n)
    return draws.sample(pairs, min(len(pairs), most))


def _two_groups(n: int, draws: random.Random) -> Links:
    size = draws.randint(0, n)
    return [(u, v) for u in range(size) for v in range(size, n)]


def _equal_components(n: int, draws: random.Random) -> Links:
    size = draws.randint(1, 4)
    return [(u, v) for u, v in _pairs(n) if u // size == v // size]


def _circulant(n: int, draws: random.Random) -> Links:
    step = draws.randint(1, n)
    return [(u, (u + by) % n) for by in (1, step) for u in range(n)]


# The edges of n > 0 nodes; those of an undirected graph in one direction.
_KINDS: dict[str, Callable[[int, random.Random], Links]] = {
    "no edges": lambda n, draws: [],
    "path": lambda n, draws: [(u, u + 1) for u in range(n - 1)],
    "cycle": lambda n, draws: [(u, (u + 1) % n) for u in range(n)],
    "star": lambda n, draws: [(0, u) for u in range(1, n)],
    "tree": lambda n, draws: [(draws.randrange(u), u) for u in range(1, n)],
    "equal components": _equal_components,
    "regular": _circulant,
    "sparse": lambda n, draws: _some_pairs(n, n, draws),
    "acyclic": lambda n, draws: _some_pairs(n, 2 * n, draws),  # each u < v
    "with loops and parallel edges": lambda n, draws: [
        (draws.randrange(n), draws.randrange(n)) for _ in range(2 * n)
    ],
    "bipartite": _two_groups,
    "dense": lambda n, draws: _some_pairs(n, n * n // 4, draws),
    "complete": lambda n, draws: _pairs(n),
}
_DENSE_KINDS = ("bipartite", "dense", "complete")

_WEIGHTS: dict[str, Callable[[random.Random], float]] = {
    "all 1": lambda draws: 1.0,
    "all different": lambda draws: draws.uniform(0.2, 3.0),
    "repeated": lambda draws: draws.choice((0.5, 1.0, 2.0)),
    "some 0": lambda draws: draws.choice((0.0, 0.0, 1.0, 2.0)),
    "all 0": lambda draws: 0.0,
    "tiny": lambda draws: 1e-30,
    "huge": lambda draws: 1e30,
    "some tiny": lambda draws: draws.choice((1e-30, 1.0)),
    "some huge": lambda draws: draws.choice((1.0, 1e30)),
    "of any size": lambda draws: 10 ** draws.uniform(-30.0, 30.0),
}
_MODERATE_WEIGHTS = ("all 1", "all different", "repeated", "some 0", "all 0")


@st.composite
def _graphs(draw: st.DrawFn, weights: tuple[str, ...], large: bool) -> SmallGraph:
    """One graph; unweighted if there are no kinds of weights to choose from."""
    n = draw(st.integers(0, _USUAL_NODES))
    kind = draw(st.sampled_from(list(_KINDS)))
    is_directed = draw(st.integers(0, 3)) == 3
    weight = draw(st.sampled_from(weights)) if weights else None
    draws = random.Random(draw(st.integers(0, 2**24 - 1)))
    if large and kind not in _DENSE_KINDS and draws.random() < 0.02:
        n = draws.randint(60, _LARGEST_NODES)

    num_isolated = draws.choice((0, 0, 1, 2))
    links = _KINDS[kind](n - num_isolated, draws) if n > num_isolated else []
    if links and draws.random() < 0.2:
        links += draws.choices(links, k=2)  # parallel edges
    if links and is_directed and draws.random() < 0.5:
        links += [(v, u) for u, v in draws.choices(links, k=2)]  # pairs with both directions
    if n and draws.random() < 0.2:
        links += [(node, node) for node in draws.choices(range(n), k=2)]
    draws.shuffle(links)
    numbers = draws.sample(range(n), n)
    return SmallGraph(
        n,
        tuple((numbers[u], numbers[v]) for u, v in links),
        None if weight is None else tuple(_in_float32(_WEIGHTS[weight](draws)) for _ in links),
        is_directed,
    )


def _in_float32(weight: float) -> float:
    """The nearest number that is the same in float32 and float64."""
    return float(np.float32(weight))


class _Briefly(list[SmallGraph]):
    """A list that Hypothesis prints in a few words."""

    def __repr__(self) -> str:
        return f"<{len(self)} graphs>"


def graph_lists(
    count: int, *, moderate: bool = False, large: bool = True
) -> st.SearchStrategy[list[SmallGraph]]:
    """Lists of graphs, all of them with weights or all without.

    Args:
        count: Number of graphs in a list.
        moderate: Whether weights are 0 or of order 1, so that all eigenvalues that are not 0 are far above rounding.
        large: Whether some graphs have 60 to 150 nodes; the others have up to 24.
    """
    kinds = _MODERATE_WEIGHTS if moderate else tuple(_WEIGHTS)
    return st.booleans().flatmap(
        lambda weighted: st.lists(
            _graphs(kinds if weighted else (), large), min_size=count, max_size=count
        ).map(_Briefly)
    )
