"""Shortest paths between all nodes, against networkx and scipy."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from adjacency_zoo import adjacency, random_adjacency, random_stack
from hypothesis import given
from scipy.sparse import csgraph
from torch import Tensor

from graphpe.linalg.distances.shortest_paths import hop_distances, shortest_path_lengths


def edge_lengths(matrix: Tensor) -> Tensor:
    return torch.where(matrix > 0, matrix, torch.inf)


@given(random_adjacency(directed=True))
def test_hops_are_those_of_networkx(matrix: Tensor) -> None:
    n = matrix.shape[-1]
    graph = networkx.from_numpy_array(matrix[0].numpy() > 0, create_using=networkx.DiGraph)
    wanted = np.full((n, n), np.inf)
    for source, lengths in networkx.all_pairs_shortest_path_length(graph):
        for target, length in lengths.items():
            wanted[source, target] = length
    got = hop_distances(matrix > 0)
    assert got.dtype == torch.float32
    np.testing.assert_array_equal(got[0], wanted)


@given(random_adjacency(directed=True))
def test_lengths_are_those_of_scipy(matrix: Tensor) -> None:
    wanted = csgraph.dijkstra(matrix[0].numpy())
    np.testing.assert_allclose(shortest_path_lengths(edge_lengths(matrix))[0], wanted, rtol=1e-12)


def test_closed_forms() -> None:
    n = 150
    index = torch.arange(n)
    apart = (index[:, None] - index).abs().float()
    path = hop_distances(adjacency(networkx.path_graph(n)) > 0)
    assert torch.equal(path[0], apart)
    cycle = hop_distances(adjacency(networkx.cycle_graph(n)) > 0)
    assert torch.equal(cycle[0], torch.minimum(apart, n - apart))
    one_way = hop_distances(adjacency(networkx.cycle_graph(n, create_using=networkx.DiGraph)) > 0)
    assert torch.equal(one_way[0], ((index - index[:, None]) % n).float())


def test_the_input_is_left_as_it_is() -> None:
    lengths = edge_lengths(random_stack(3, 6))
    before = lengths.clone()
    shortest_path_lengths(lengths)
    assert torch.equal(lengths, before)


@pytest.mark.parametrize("n", [1, 2, 25, 80])
def test_same_bytes_whatever_the_stack(n: int) -> None:
    matrix = random_stack(300 if n < 50 else 30, n, density=0.1)
    hops, lengths = hop_distances(matrix > 0), shortest_path_lengths(edge_lengths(matrix))
    for part in (slice(0, 1), slice(7, 20), slice(len(matrix) - 1, len(matrix))):
        assert torch.equal(hop_distances(matrix[part] > 0), hops[part])
        assert torch.equal(shortest_path_lengths(edge_lengths(matrix[part])), lengths[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int]) -> None:
    assert torch.equal(hop_distances(torch.zeros(shape, dtype=torch.bool)), torch.zeros(shape))
    lengths = torch.full(shape, torch.inf, dtype=torch.float64)
    assert torch.equal(shortest_path_lengths(lengths), torch.zeros(shape, dtype=torch.float64))
