"""Sorting networks: labels by brute force, edges by their definition, sizes as measured on the published generator."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.utils import to_networkx

from graphpe.data.generated import SortingNetworks
from graphpe.data.generated.sorting_networks import draw_network, network_graph
from graphpe.data.generated.zero_one_principle import ZeroOneVectors, is_sorting_network


def small(root="unused", **settings):
    defaults = {
        "train_widths": (3, 7),
        "valid_widths": (8, 8),
        "test_widths": (9, 10),
        "train_size": 40,
        "valid_size": 10,
        "test_size": 10,
        "networks_per_width": 1,
    }
    return SortingNetworks(root=root, **{**defaults, **settings})


def draw(width, seed):
    return draw_network(width, np.random.default_rng(seed), 512)


def random_comparators(width, count, seed):
    random = np.random.default_rng(seed)
    return [tuple(sorted(random.choice(width, 2, replace=False).tolist())) for _ in range(count)]


def outputs(operations, inputs):
    """What a network makes of the rows of ``inputs``, comparator by comparator."""
    values = np.array(inputs)
    for i, j in operations:
        smaller, larger = np.minimum(values[:, i], values[:, j]), np.maximum(*values[:, [i, j]].T)
        values[:, i], values[:, j] = smaller, larger
    return values


def sorts_all(operations, inputs):
    return bool((np.diff(outputs(operations, inputs), axis=1) >= 0).all())


def zero_one_vectors(width):
    return list(itertools.product((0, 1), repeat=width))


def operations_of(graph):
    return [tuple(pair) for pair in graph.x.tolist()]


# The machinery of zero-one vectors


@pytest.mark.parametrize("width", range(2, 10))
def test_vectors_are_those_of_brute_force_after_each_comparator(width):
    operations = random_comparators(width, 4 * width, seed=width)
    vectors = ZeroOneVectors(width)
    for number, (i, j) in enumerate(operations):
        vectors.compare_exchange(i, j)
        left = np.unique(outputs(operations[: number + 1], zero_one_vectors(width)), axis=0)
        assert len(vectors) == len(left)
        wrong = (left != np.sort(left, axis=1)).any(0)
        assert [vectors.is_unsorted(wire) for wire in range(width)] == wrong.tolist()
        assert vectors.are_sorted() == (len(left) == width + 1) == (not wrong.any())


@pytest.mark.parametrize("width", range(2, 6))
def test_a_sorting_network_sorts_all_permutations_and_no_other_does(width):
    permutations = list(itertools.permutations(range(width)))
    seen = set()
    for seed in range(60):
        operations = random_comparators(width, 3 * width, seed)
        expected = sorts_all(operations, permutations)
        assert is_sorting_network(operations, width) == expected
        seen.add(expected)
    assert True in seen
    assert is_sorting_network([], width) is False


def test_known_networks():
    # Knuth's network of 5 comparators for 4 wires, and bubble sort.
    four = [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]
    assert is_sorting_network(four, 4)
    assert not is_sorting_network(four[::-1], 4)
    bubbles = [(wire, wire + 1) for end in range(11, 0, -1) for wire in range(end)]
    assert is_sorting_network(bubbles, 12)
    assert not is_sorting_network(bubbles[:-1], 12)
    assert is_sorting_network([], 1)


@pytest.mark.parametrize("width", [0, 21])
def test_too_many_wires_are_refused(width):
    with pytest.raises(ValueError, match=f"width is {width}; it must be an integer from 1 to 20"):
        ZeroOneVectors(width)


# Drawing


@pytest.mark.parametrize("width", range(3, 10))
def test_drawn_networks_sort_and_each_comparator_was_needed_and_allowed(width):
    vectors = zero_one_vectors(width)
    for seed in range(5):
        network = draw(width, seed)
        assert sorts_all(network, vectors)
        assert not sorts_all(network[:-1], vectors)
        assert all(before != after for before, after in itertools.pairwise(network))
        values = vectors
        for i, j in network:
            assert i < j
            wrong = (values != np.sort(values, axis=1)).any(0)
            assert wrong[i]
            assert wrong[j]
            values = np.unique(outputs([(i, j)], values), axis=0)


def test_comparators_are_drawn_uniformly():
    pairs = [draw(5, seed)[0] for seed in range(4000)]
    counts = [pairs.count(pair) for pair in itertools.combinations(range(5), 2)]
    # The chi-squared distribution of 9 degrees of freedom exceeds 33.7 once in 10,000.
    assert sum((count - 400) ** 2 / 400 for count in counts) < 33.7
    # The second is uniform over the unsorted wires again, all but the one just drawn.
    second = [draw(4, seed)[:2] for seed in range(4000)]
    after = [pair for first, pair in second if first == (1, 2)]
    counts = [after.count(pair) for pair in itertools.combinations(range(4), 2)]
    assert counts.pop(3) == 0  # (1, 2)
    expected = len(after) / 5
    assert sum((count - expected) ** 2 / expected for count in counts) < 23.5


@pytest.mark.parametrize(
    ("width", "mean"), [(7, 35), (8, 49), (9, 67), (10, 90), (11, 112), (12, 140), (13, 170)]
)
def test_lengths_are_near_the_published_generator(width, mean):
    lengths = [len(draw(width, seed)) for seed in range(120)]
    assert np.mean(lengths) == pytest.approx(mean, rel=0.06)


def test_long_networks_are_dropped(monkeypatch):
    network = draw(6, 0)
    assert draw_network(6, np.random.default_rng(0), len(network)) == network
    assert draw_network(6, np.random.default_rng(0), len(network) - 1) is None
    dataset = small(train_widths=(7, 7))
    graphs = dataset.generate("train", range(40))
    monkeypatch.setattr(SortingNetworks, "max_operations", 35)
    kept = dataset.generate("train", range(40))
    assert 0 < len(kept) < len(graphs) == 80
    expected = [
        graph
        for pair in zip(graphs[::2], graphs[1::2], strict=True)
        for graph in pair
        if pair[0].num_nodes <= 35
    ]
    assert list(map(operations_of, kept)) == list(map(operations_of, expected))


# Graphs


def edges_by_definition(operations):
    """For each comparator and each of its wires, the last one before it on this wire."""
    edges = []
    for number, comparator in enumerate(operations):
        for wire in comparator:
            before = [k for k in range(number) if wire in operations[k]]
            edges += [(before[-1], number)] if before else []
    return edges


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_graphs_and_labels(part):
    dataset = small(valid_widths=(3, 5))  # few wires, so that some reversed networks sort
    graphs = dataset.generate(part, range(10))
    each = 2 if part == "train" else 3
    assert len(graphs) == 10 * each
    for number, graph in enumerate(graphs):
        width, operations = int(graph.wires), operations_of(graph)
        assert set(graph.keys()) == {"x", "edge_index", "y", "operation", "wires"}
        assert graph.x.dtype == graph.operation.dtype == graph.wires.dtype == torch.int64
        assert graph.y.dtype == torch.float32
        assert graph.y.shape == graph.wires.shape == (1, 1)
        assert graph.operation.flatten().tolist() == list(range(len(operations)))
        assert graph.edge_index.T.tolist() == [list(e) for e in edges_by_definition(operations)]
        assert graph.num_edges == 2 * graph.num_nodes - width
        assert bool(graph.y) == sorts_all(operations, zero_one_vectors(width))
        source, target = graph.edge_index
        assert (source < target).all()
        assert nx.is_directed_acyclic_graph(to_networkx(graph, to_multi=True))
        whole = operations_of(graphs[number - number % each])
        assert operations == [whole, whole[:-1], whole[::-1]][number % each]
    assert [float(graph.y) for graph in graphs[::each]] == [1.0] * 10
    assert [float(graph.y) for graph in graphs[1::each]] == [0.0] * 10
    if part == "valid":
        assert {float(graph.y) for graph in graphs[2::3]} == {0.0, 1.0}


def test_parallel_edges_stay():
    graph = network_graph([(0, 1), (0, 1), (1, 2)], 3, is_sorting=False)
    assert graph.edge_index.tolist() == [[0, 0, 1], [1, 1, 2]]
    graphs = small(train_widths=(7, 7)).generate("train", range(30))[::2]
    with_parallel = [g for g in graphs if len(g.edge_index.unique(dim=1).T) < g.num_edges]
    assert len(with_parallel) >= 20


@pytest.mark.parametrize("width", [3, 20])
def test_the_narrowest_and_the_widest_network(width):
    settings = {"valid_widths": (width, width), "train_widths": (width, width)}
    whole, short, backwards = small(**settings).generate("valid", range(1))
    assert whole.num_nodes == short.num_nodes + 1 == backwards.num_nodes
    assert short.num_edges == 2 * short.num_nodes - width >= 1
    assert is_sorting_network(operations_of(backwards), width) == bool(backwards.y)


# The dataset


def test_pieces_are_equal_to_the_whole():
    dataset = small(networks_per_width=3)
    for part in ("train", "test"):
        whole = list(map(operations_of, dataset.generate(part, range(10))))
        pieces = [g for start in range(10) for g in dataset.generate(part, range(start, start + 1))]
        assert list(map(operations_of, pieces)) == whole
    assert list(map(operations_of, small(seed=1).generate("train", range(10)))) != whole


def test_widths_are_drawn_once_per_batch_of_networks():
    graphs = small(networks_per_width=4).generate("train", range(200))
    widths = torch.cat([graph.wires for graph in graphs[::2]]).reshape(50, 4)
    assert (widths == widths[:, :1]).all()
    counts = widths[:, 0].bincount()
    assert counts.tolist()[:3] == [0, 0, 0]
    assert counts[3:].min() >= 3
    assert len(counts) == 8
    # The number of wires tells nothing about the first comparator.
    every = small(networks_per_width=1).generate("train", range(200))[::2]
    first = {operations_of(graph)[0] for graph in every if graph.wires == 7}
    assert {wire for pair in first for wire in pair} == set(range(7))
    assert any(max(pair) < 5 for pair in first)
    # Networks of a batch differ, and so do parts.
    assert operations_of(graphs[0]) != operations_of(graphs[2])
    same = small(train_widths=(8, 8))
    train, valid = same.generate("train", range(1)), same.generate("valid", range(1))
    assert operations_of(train[0]) != operations_of(valid[0])


def test_rate_of_correct_networks(tmp_path):
    dataset = small(tmp_path, train_size=30, valid_size=60, test_size=60)
    graphs, index = dataset.load()
    assert [len(numbers) for numbers in index.values()] == [60, 180, 180]
    statistics = dataset.statistics()
    assert statistics["train"].target_mean == [0.5]
    assert statistics["test"].target_mean == [pytest.approx(1 / 3, abs=0.01)]
    assert graphs[0].wires.shape == (1, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train_widths": (2, 7)}, r"train_widths is \(2, 7\); .* integers from 3 to 20"),
        ({"valid_widths": (9, 8)}, r"valid_widths is \(9, 8\)"),
        ({"test_widths": (9, 21)}, r"test_widths is \(9, 21\)"),
        ({"test_widths": (9,)}, r"test_widths is \(9,\)"),
        ({"test_widths": (9, 10.0)}, r"test_widths is \(9, 10.0\)"),
        ({"test_widths": 9}, "test_widths is 9"),
        ({"train_size": 0}, "train_size is 0"),
        ({"networks_per_width": 0}, "networks_per_width is 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        small(**settings)


def test_widths_given_as_a_list_are_the_same_setting():
    dataset = small(test_widths=[9, 10])
    assert dataset == small()
    assert dataset.folder == small().folder
