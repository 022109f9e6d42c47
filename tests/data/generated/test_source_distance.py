"""Trees with edges away from a source, and the distances of their nodes."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch

from graphpe.data.generated import SourceDistance
from graphpe.data.generated.source_distance import random_tree

SMALL = {"train_nodes": (2, 30), "valid_nodes": (31, 40), "test_nodes": (41, 50)}


def as_network(graph):
    network = nx.DiGraph()
    network.add_nodes_from(range(graph.num_nodes))
    network.add_edges_from(graph.edge_index.T.tolist())
    return network


def test_trees_are_drawn_uniformly():
    random = np.random.default_rng(0)
    drawn = Counter(
        frozenset(map(frozenset, random_tree(random, 4).T.tolist())) for _ in range(8000)
    )
    assert len(drawn) == 16  # Cayley: 4^2 trees on 4 labelled nodes
    # chi-squared with 15 degrees of freedom: above 44 with probability 1e-4
    assert sum((count - 500) ** 2 / 500 for count in drawn.values()) < 44


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_trees_are_trees(n):
    edges = random_tree(np.random.default_rng(n), n)
    assert edges.shape == (2, n - 1)
    network = nx.empty_graph(n)
    network.add_edges_from(edges.T.tolist())
    assert nx.is_tree(network)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_trees_lead_away_from_their_source(part):
    dataset = SourceDistance(**SMALL)
    sources = set()
    for graph in dataset.generate(part, range(40)):
        n = graph.num_nodes
        least, largest = getattr(dataset, f"{part}_nodes")
        assert least <= n <= largest
        assert graph.x.shape == graph.y.shape == (n, 1)
        assert graph.x.dtype == graph.y.dtype == torch.float32
        assert sorted(graph.x[:, 0].tolist()) == [0.0] * (n - 1) + [1.0]
        source = int(graph.x.argmax())
        sources.add(source)
        network = as_network(graph)
        assert nx.is_arborescence(network)
        lengths = nx.single_source_shortest_path_length(network, source)
        assert graph.y[:, 0].tolist() == [lengths[node] for node in range(n)]
        assert bool(((graph.edge_index[0] * n + graph.edge_index[1]).diff() > 0).all())
    assert len(sources) > 5


def test_further_edges_lead_to_deeper_nodes():
    trees = SourceDistance(**SMALL).generate("test", range(30))
    more = SourceDistance(**SMALL, extra_edges=0.5).generate("test", range(30))
    added, shortened = 0, 0
    for tree, graph in zip(trees, more, strict=True):
        n, source = tree.num_nodes, int(tree.x.argmax())
        assert torch.equal(graph.x, tree.x)
        depth = tree.y[:, 0]
        start, end = graph.edge_index
        assert not bool((start == end).any())
        assert bool((depth[start] <= depth[end]).all())
        network = as_network(graph)
        assert set(as_network(tree).edges) <= set(network.edges)
        assert network.number_of_edges() <= n - 1 + round(0.5 * n)
        added += network.number_of_edges() - (n - 1)
        lengths = nx.single_source_shortest_path_length(network, source)
        assert graph.y[:, 0].tolist() == [lengths[node] for node in range(n)]
        shortened += int((graph.y < tree.y).sum())
    assert added > 0.4 * sum(tree.num_nodes for tree in trees)
    assert shortened > 0


def test_the_graphs_do_not_depend_on_what_is_made_with_them():
    dataset = SourceDistance(**SMALL, extra_edges=0.2)

    def made(numbers):
        graphs = dataset.generate("train", numbers)
        return [(g.edge_index.tolist(), g.x.tolist(), g.y.tolist()) for g in graphs]

    assert made(range(5, 20)) == made(range(20))[5:]


def test_load_gives_the_parts(tmp_path):
    dataset = SourceDistance(root=tmp_path, train_size=5, valid_size=2, test_size=3, **SMALL)
    graphs, index = dataset.load()
    assert [len(numbers) for numbers in index.values()] == [5, 2, 3]
    last = dataset.generate("test", range(2, 3))[0]
    assert torch.equal(graphs[9].y, last.y)
    assert torch.equal(graphs[9].edge_index, last.edge_index)


def test_defaults_are_the_published_sizes():
    dataset = SourceDistance()
    assert list(dataset.sizes().values()) == [50_000, 2_500, 2_500]
    assert dataset.train_nodes == dataset.valid_nodes == dataset.test_nodes == (500, 999)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_nodes": (1, 5)}, "train_nodes is .* at least 2"),
        ({"test_nodes": (6, 5)}, "the second at least the first"),
        ({"valid_size": 0}, "valid_size is 0"),
        ({"extra_edges": -0.1}, "extra_edges is -0.1"),
        ({"extra_edges": float("inf")}, "extra_edges is inf"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SourceDistance(**changes)
