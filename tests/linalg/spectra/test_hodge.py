"""Hodge Laplacians without lists of triangles, against boundary matrices that list them."""

from __future__ import annotations

import numpy as np
import torch
from graph_zoo import random_graphs
from hypothesis import given
from simplicial_oracle import Complex, complex_of, rank
from torch import Tensor
from torch_geometric.data import Data

from graphpe.linalg.spectra.hodge import hodge_laplacians, hodge_spectrum, rank_of_triangles


def arguments(simplices: Complex) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of one graph."""
    edges = torch.tensor(list(simplices.edges), dtype=torch.int64).view(1, -1, 2)
    source, target = edges[..., 0], edges[..., 1]
    n = simplices.b1.shape[0]
    adjacency = torch.zeros(1, n, n, dtype=torch.float64)
    adjacency[0, source, target] = adjacency[0, target, source] = 1.0
    return adjacency, source, target


@given(random_graphs(max_nodes=12))
def test_laplacians_and_rank(data: Data) -> None:
    s = complex_of(data)
    gradient, curl = hodge_laplacians(*arguments(s))
    assert np.array_equal(gradient[0], s.b1.T @ s.b1)
    assert np.array_equal(curl[0], s.b2 @ s.b2.T)
    assert rank_of_triangles(*arguments(s)).tolist() == [rank(s.b2)]


def test_a_graph_has_the_same_bytes_in_any_stack() -> None:
    """All graphs of 7 nodes and 11 edges out of a few random ones."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.combinations(torch.arange(7))
    edges = torch.stack([pairs[torch.randperm(21, generator=generator)[:11]] for _ in range(30)])
    source, target = edges.unbind(-1)
    adjacency = torch.zeros(30, 7, 7, dtype=torch.float64)
    graph = torch.arange(30)[:, None]
    adjacency[graph, source, target] = adjacency[graph, target, source] = 1.0
    num_gradient = torch.linalg.matrix_rank(adjacency.sum(-1).diag_embed() - adjacency)
    together = hodge_spectrum(adjacency, source, target, num_gradient)
    for number in range(30):
        one = slice(number, number + 1)
        alone = hodge_spectrum(adjacency[one], source[one], target[one], num_gradient[one])
        for got, wanted in zip(alone, together, strict=True):
            assert torch.equal(got[0], wanted[number])
