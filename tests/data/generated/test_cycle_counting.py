"""Random graphs with the numbers of their cycles."""

from __future__ import annotations

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphpe.data.generated import CycleCounting
from graphpe.data.generated.cycle_counting import cycle_counts, standardized


def as_network(graph: Data) -> nx.Graph:
    network = nx.empty_graph(graph.num_nodes)
    network.add_edges_from(graph.edge_index.T.tolist())
    return network


def counted_by_networkx(graph: Data, lengths: tuple[int, ...]) -> list[float]:
    found = Counter(len(cycle) for cycle in nx.simple_cycles(as_network(graph), max(lengths)))
    return [float(found[length]) for length in lengths]


@pytest.mark.parametrize(
    ("n", "probability", "lengths"),
    [
        (10, 0.3, (3, 4, 5, 6)),
        (7, 0.7, (6, 3, 8)),
        (1, 0.5, (3,)),
        (2, 1.0, (3, 4)),
        (5, 1e-9, (4,)),
    ],
)
def test_the_targets_are_numbers_of_cycles(n, probability, lengths):
    dataset = CycleCounting(num_nodes=n, edge_probability=probability, lengths=lengths)
    for graph in dataset.generate("train", range(15)):
        assert graph.num_nodes == n
        assert graph.y.shape == (1, len(lengths))
        assert graph.y.dtype == torch.float32
        assert graph.y[0].tolist() == counted_by_networkx(graph, lengths)


def test_complete_graphs_have_their_closed_form():
    (graph,) = CycleCounting(num_nodes=9, edge_probability=1.0).generate("test", range(1))
    wanted = [math.comb(9, m) * math.factorial(m - 1) / 2 for m in (3, 4, 5, 6)]
    assert graph.y[0].tolist() == wanted


def test_edges_are_simple_and_both_ways_and_as_dense_as_asked():
    graphs = CycleCounting().generate("valid", range(300))
    for graph in graphs:
        assert not graph.has_self_loops()
        assert graph.is_undirected()
        assert graph.is_coalesced()
    edges = sum(graph.num_edges / 2 for graph in graphs)
    pairs = 300 * 45
    # Binomial: beyond five standard deviations with probability 6e-7.
    assert abs(edges - 0.3 * pairs) < 5 * math.sqrt(pairs * 0.3 * 0.7)


def test_larger_test_graphs_have_the_same_mean_degree():
    dataset = CycleCounting(test_nodes=30)
    assert all(graph.num_nodes == 10 for graph in dataset.generate("valid", range(5)))
    graphs = dataset.generate("test", range(300))
    assert {graph.num_nodes for graph in graphs} == {30}
    assert sum(graph.num_edges for graph in graphs) / 300 / 30 == pytest.approx(2.7, rel=0.02)
    for graph in graphs[:5]:
        assert graph.y[0].tolist() == counted_by_networkx(graph, (3, 4, 5, 6))
    with pytest.raises(ValueError, match="test_nodes is 9, but num_nodes 10"):
        CycleCounting(test_nodes=9)


def test_the_graphs_do_not_depend_on_what_is_made_with_them():
    dataset = CycleCounting()

    def made(numbers):
        return [(g.edge_index.tolist(), g.y.tolist()) for g in dataset.generate("train", numbers)]

    assert made(range(5, 20)) == made(range(20))[5:]
    assert len({str(graph) for graph in made(range(20))}) == 20


@pytest.mark.parametrize("standardize", [True, False])
def test_load_gives_the_parts(standardize, tmp_path):
    dataset = CycleCounting(
        root=tmp_path, train_size=40, valid_size=3, test_size=5, standardize=standardize
    )
    graphs, index = dataset.load()
    assert [len(numbers) for numbers in index.values()] == [40, 3, 5]
    raw = torch.cat(
        [g.y for part, size in dataset.sizes().items() for g in dataset.generate(part, range(size))]
    )
    loaded = torch.cat([graph.y for graph in graphs])
    if not standardize:
        assert torch.equal(loaded, raw)
        return
    torch.testing.assert_close(loaded[:40].mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(loaded[:40].std(0, correction=0), torch.ones(4))
    scale = raw[:40].std(0, correction=0)
    torch.testing.assert_close(loaded * scale + raw[:40].mean(0), raw)  # of the test part too
    mean = dataset.statistics()["train"].target_mean
    assert mean == pytest.approx(raw[:40].mean(0).tolist())


def test_equal_targets_are_not_standardised(tmp_path):
    dataset = CycleCounting(
        root=tmp_path, train_size=2, valid_size=1, test_size=1, edge_probability=1e-9
    )
    with pytest.raises(ValueError, match="target 0 is 0 for all 2 training graphs"):
        dataset.load()


def test_only_training_graphs_standardise():
    y = torch.tensor([[1.0], [3.0], [100.0]])
    assert standardized(y, torch.tensor([0, 1])).tolist() == [[-1.0], [1.0], [98.0]]


def test_counts_of_graphs_in_a_list_are_their_own():
    triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
    empty = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=4)
    assert cycle_counts([empty, triangle, triangle], (3, 4)).tolist() == [[0, 0], [1, 0], [1, 0]]


def test_has_the_sizes_and_density_of_the_published_graphs(shared_data):
    """Those of Chen et al."""

    path = shared_data / "substructure_counting" / "dataset1_er.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with np.load(path) as file:
        assert set(file["num_nodes"].tolist()) == {CycleCounting().num_nodes}
        density = len(file["edges"]) / (len(file["num_nodes"]) * 45)
        assert density == pytest.approx(CycleCounting().edge_probability, abs=0.005)
        sizes = [len(file[f"{part}_idx"]) for part in ("train", "val", "test")]
        assert sizes == list(CycleCounting().sizes().values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_nodes": 0}, "num_nodes is 0"),
        ({"edge_probability": 1.5}, "edge_probability is 1.5"),
        ({"lengths": ()}, "lengths is empty"),
        ({"lengths": (2, 3)}, "lengths is .* from 3 to 8"),
        ({"test_size": -1}, "test_size is -1"),
        ({"standardize": "yes"}, "standardize is 'yes'"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        CycleCounting(**changes)
