"""Reachability against networkx."""

from __future__ import annotations

import networkx
import pytest
import torch
from adjacency_zoo import random_adjacency
from hypothesis import given
from torch import Tensor

from graphpe.linalg.distances.reachability import reachability


@given(random_adjacency(directed=True))
def test_reached_are_the_descendants_of_networkx(matrix: Tensor) -> None:
    graph = networkx.from_numpy_array(matrix[0].numpy(), create_using=networkx.DiGraph)
    got = reachability(matrix > 0)[0]
    for node in graph:
        assert set(got[node].nonzero().flatten().tolist()) == networkx.descendants(graph, node) | {
            node
        }


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 17, 64, 65, 66, 300])
def test_long_paths_next_to_short_ones(n: int) -> None:
    path = torch.diag(torch.ones(n - 1), 1) > 0
    loose = torch.zeros(n, n, dtype=torch.bool)
    got = reachability(torch.stack([loose, path, path.mT]))
    every = torch.ones(n, n, dtype=torch.bool)
    assert torch.equal(got, torch.stack([torch.eye(n).bool(), every.triu(), every.tril()]))


def test_the_input_stays_as_it_is() -> None:
    connected = torch.diag(torch.ones(5), 1)[None] > 0
    before = connected.clone()
    reachability(connected)
    assert torch.equal(connected, before)


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0)])
def test_empty_stacks(shape: tuple[int, int, int]) -> None:
    assert reachability(torch.zeros(shape, dtype=torch.bool)).shape == shape
