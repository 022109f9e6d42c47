"""Edges of shortest paths: each path is walked and found to be one."""

from __future__ import annotations

import pytest
import torch
from adjacency_zoo import random_adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import graphpe.linalg.distances.shortest_path_edges as module
from graphpe.linalg.distances.shortest_path_edges import shortest_path_edges
from graphpe.linalg.distances.shortest_paths import hop_distances


@given(random_adjacency(max_nodes=12, directed=True), st.integers(1, 5), st.randoms())
def test_paths_are_shortest_paths_by_the_first_edge_of_each_node(
    matrix: Tensor, count: int, random
) -> None:
    edges = [(u, v) for u, v in (matrix[0] > 0).nonzero().tolist() for _ in range(2)]
    random.shuffle(edges)
    source, target = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    distance = hop_distances(matrix > 0)
    slot, position = torch.zeros_like(source), torch.arange(len(edges)) + 7
    result = shortest_path_edges(distance, slot, source, target, position, count)[0]
    hops = distance[0].tolist()
    for u, row in enumerate(result.tolist()):
        for v, path in enumerate(row):
            at = u
            for edge in path:
                closer = [
                    number
                    for number, (start, end) in enumerate(edges)
                    if start == at and hops[end][v] < hops[at][v]
                ]
                assert edge == (closer[0] + 7 if closer else -1)
                at = edges[closer[0]][1] if closer else at
            if hops[u][v] <= count:
                assert at == v


def test_parts_of_the_table_and_other_graphs_change_nothing(monkeypatch) -> None:
    matrix = random_stack(9, 12)
    distance = hop_distances(matrix > 0)
    slot, source, target = (matrix > 0).nonzero().t().contiguous()
    position = torch.randperm(len(slot))
    whole = shortest_path_edges(distance, slot, source, target, position, 4)
    monkeypatch.setattr(module, "_ENTRIES", 50)
    assert torch.equal(shortest_path_edges(distance, slot, source, target, position, 4), whole)
    for graph in range(9):
        mine = slot == graph
        edges = (slot[mine] - graph, source[mine], target[mine], position[mine])
        alone = shortest_path_edges(distance[graph : graph + 1], *edges, 4)
        assert torch.equal(alone[0], whole[graph])


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("b", [0, 2])
def test_no_edges(b: int, n: int) -> None:
    distance = hop_distances(torch.zeros(b, n, n, dtype=torch.bool))
    none = torch.zeros(0, dtype=torch.long)
    result = shortest_path_edges(distance, none, none, none, none, 3)
    assert torch.equal(result, torch.full((b, n, n, 3), -1))
