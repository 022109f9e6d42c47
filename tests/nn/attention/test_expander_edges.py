"""Edges of random expanders."""

from __future__ import annotations

import math

import networkx
import pytest
import torch
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.nn.attention.expander_edges import expander_edges
from graphpe.nn.layout import GraphLayout


def layout_of(*sizes: int) -> GraphLayout:
    return graph_layout(Batch.from_data_list([Data(num_nodes=n) for n in sizes]))


def multigraph(edge_index: torch.Tensor, n: int) -> networkx.MultiDiGraph:
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edge_index.t().tolist())
    return graph


@pytest.mark.parametrize("degree", [2, 4, 6])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 50])
def test_regular_connected_and_symmetric(n: int, degree: int) -> None:
    for seed in range(5):
        edges = expander_edges(layout_of(n), degree, seed)
        graph = multigraph(edges, n)
        assert all(number == degree for _, number in graph.in_degree)
        assert all(number == degree for _, number in graph.out_degree)
        assert networkx.is_strongly_connected(graph)
        assert not list(networkx.selfloop_edges(graph))
        assert sorted(edges.t().tolist()) == sorted(edges.flip(0).t().tolist())


def test_one_node_and_none_have_no_edges() -> None:
    assert expander_edges(layout_of(1, 0, 1), 4).shape == (2, 0)
    assert expander_edges(layout_of(0), 4).shape == (2, 0)


def test_spectral_gap() -> None:
    """Friedman: all eigenvalues but the first are at most 2 √(d − 1) + ε, which a cycle is far from."""
    n, degree = 200, 6
    for seed in range(10):
        source, target = expander_edges(layout_of(n), degree, seed)
        adjacency = torch.zeros(n, n, dtype=torch.float64)
        adjacency.index_put_((source, target), torch.ones(1, dtype=torch.float64), accumulate=True)
        eigenvalues = torch.linalg.eigvalsh(adjacency)
        assert eigenvalues[-1] == pytest.approx(degree)
        largest_other = max(eigenvalues[-2], -eigenvalues[0])
        assert largest_other < 2 * math.sqrt(degree - 1) + 0.2


def test_does_not_depend_on_other_graphs() -> None:
    sizes = (5, 1, 0, 40, 5, 2)
    layout = layout_of(*sizes)
    source, target = expander_edges(layout, 4, seed=3)
    for number, n in enumerate(sizes):
        inside = layout.batch[source] == number
        own = torch.stack([source[inside], target[inside]]) - layout.ptr[number]
        alone = expander_edges(layout_of(n), 4, seed=3)
        assert torch.equal(own, alone)


def test_seed() -> None:
    layout = layout_of(30)
    assert torch.equal(expander_edges(layout, 4, 1), expander_edges(layout, 4, 1))
    assert not torch.equal(expander_edges(layout, 4, 1), expander_edges(layout, 4, 2))


def test_cycles_are_uniform() -> None:
    """The six directed cycles through four nodes come equally often."""
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(600):
        source, target = expander_edges(layout_of(4), 2, seed)[:, :4]
        following = tuple(target[source.argsort()].tolist())
        counts[following] = counts.get(following, 0) + 1
    assert len(counts) == 6
    assert all(60 < count < 140 for count in counts.values())
