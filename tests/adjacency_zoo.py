"""Adjacency matrices with known spectra, and hypothesis strategies for random ones."""

from __future__ import annotations

from math import comb, pi

import networkx
import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor


def adjacency(graph: networkx.Graph) -> Tensor:
    """``[1, n, n]`` float64."""
    return torch.from_numpy(networkx.to_numpy_array(graph))[None]


def closed_forms() -> dict[str, tuple[networkx.Graph, np.ndarray, np.ndarray]]:
    """Graphs with all eigenvalues of D − A and of L_sym, ascending."""
    n = 12
    j = np.arange(n)
    dimension = 4
    levels = np.repeat(np.arange(5), [comb(dimension, level) for level in range(5)])
    return {
        "path": (
            networkx.path_graph(n),
            2 - 2 * np.cos(pi * j / n),
            1 - np.cos(pi * j / (n - 1)),
        ),
        "cycle": (
            networkx.cycle_graph(n),
            np.sort(2 - 2 * np.cos(2 * pi * j / n)),
            np.sort(1 - np.cos(2 * pi * j / n)),
        ),
        "complete": (
            networkx.complete_graph(n),
            np.array([0.0] + [n] * (n - 1)),
            np.array([0.0] + [n / (n - 1)] * (n - 1)),
        ),
        "star": (
            networkx.star_graph(n - 1),
            np.array([0.0] + [1.0] * (n - 2) + [n]),
            np.array([0.0] + [1.0] * (n - 2) + [2.0]),
        ),
        "hypercube": (
            networkx.hypercube_graph(dimension),
            2.0 * levels,
            2.0 * levels / dimension,
        ),
    }


@st.composite
def random_adjacency(draw: st.DrawFn, max_nodes: int = 40, directed: bool = False) -> Tensor:
    """``[1, n, n]`` float64 of 1 to ``max_nodes`` nodes.

    Often disconnected; parallel edges add up; with loops; weighted or not.
    """
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    weight = draw(st.sampled_from([st.just(1.0), st.floats(0.01, 10.0)]))
    weights = draw(st.lists(weight, min_size=len(edges), max_size=len(edges)))
    matrix = torch.zeros(n, n, dtype=torch.float64)
    for (u, v), w in zip(edges, weights, strict=True):
        matrix[u, v] += w
        if not directed and u != v:
            matrix[v, u] += w
    return matrix[None]


def random_stack(count: int, n: int, density: float = 0.3, seed: int = 0) -> Tensor:
    """``[count, n, n]`` float64: symmetric, weighted."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(count, n, n, dtype=torch.float64, generator=generator)
    keep = torch.rand(count, n, n, generator=generator) < density
    upper = (weights * keep).triu()
    return upper + upper.mT
