"""AddCycleCountSE against networkx and closed forms, by either route, and refused where neither is affordable."""

from __future__ import annotations

import time
from math import comb, factorial

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddCycleCountSE, cycles

INSTANCES = [
    AddCycleCountSE(),
    AddCycleCountSE((5, 8), dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddCycleCountSE) -> None:
    check_encoding(encoding)


def count_of_networkx(data: Data, lengths: tuple[int, ...]) -> np.ndarray:
    simple = networkx.Graph(to_networkx(data, to_undirected=True, remove_self_loops=True))
    counts = np.zeros((len(simple), len(lengths)))
    for cycle in networkx.simple_cycles(simple, length_bound=max(lengths)):
        if len(cycle) in lengths:
            counts[cycle, lengths.index(len(cycle))] += 1
    return counts


@given(
    random_graphs(max_nodes=11),
    st.lists(st.integers(3, 8), min_size=1, max_size=6, unique=True),
    st.sampled_from([500, 3]),
)
@settings(max_examples=40)
def test_as_networkx(data: Data, lengths: list[int], dense_limit: int) -> None:
    encoding = AddCycleCountSE(lengths, dense_limit=dense_limit)
    wanted = count_of_networkx(data, tuple(lengths))
    np.testing.assert_array_equal(encoding(data).cycle_count_se, wanted)


def test_petersen_graph() -> None:
    encoded = AddCycleCountSE()(from_networkx(networkx.petersen_graph())).cycle_count_se
    assert (encoded.sum(0) / torch.arange(3, 9)).tolist() == [0, 0, 12, 10, 0, 15]


@pytest.mark.parametrize("n", [9, 40])
def test_complete_graphs(n: int) -> None:
    """There are 10^10 cycles of length 8 in the larger one; they are not listed."""
    encoding = AddCycleCountSE(dtype="float64")
    encoded = encoding(from_networkx(networkx.complete_graph(n))).cycle_count_se
    wanted = [comb(n - 1, k - 1) * factorial(k - 1) // 2 for k in range(3, 9)]
    assert encoded[n - 1].tolist() == wanted


def test_both_routes_agree_in_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = networkx.gnp_random_graph(16, 0.12, seed=1)
    dense = networkx.gnp_random_graph(16, 0.6, seed=1)
    batch = Batch.from_data_list([from_networkx(each) for each in (sparse, dense, sparse)])
    encoding = AddCycleCountSE()
    monkeypatch.setattr(cycles, "steps_of_dense_count", lambda n, lengths: 1500)
    dense_graphs = []

    def spy(adjacency: torch.Tensor, lengths: tuple[int, ...]) -> tuple:
        dense_graphs.append(len(adjacency))
        return original(adjacency, lengths)

    original = cycles.count_cycles_densely
    monkeypatch.setattr(cycles, "count_cycles_densely", spy)
    mixed = encoding(batch.clone()).cycle_count_se
    assert dense_graphs == [1]
    monkeypatch.setattr(cycles, "steps_of_dense_count", lambda n, lengths: 1e12)
    joined = encoding(batch.clone()).cycle_count_se
    monkeypatch.setattr(cycles, "steps_of_dense_count", lambda n, lengths: 0)
    products = encoding(batch.clone()).cycle_count_se
    assert dense_graphs == [1, 3]
    assert torch.equal(mixed, joined)
    assert torch.equal(mixed, products)


@pytest.mark.parametrize("dense_limit", [500, 100])
def test_sparse_graphs_of_some_hundred_nodes(dense_limit: int) -> None:
    simple = networkx.random_regular_graph(3, 300, seed=2)
    data = from_networkx(simple)
    start = time.perf_counter()
    encoded = AddCycleCountSE(dense_limit=dense_limit)(data).cycle_count_se
    assert time.perf_counter() - start < 5
    np.testing.assert_array_equal(encoded, count_of_networkx(data, (3, 4, 5, 6, 7, 8)))


def test_a_large_grid() -> None:
    """An inner node is in 4 squares, 4 × 3 hexagons (2×3 rectangles) and as many octagons as any other."""
    data = from_networkx(networkx.grid_2d_graph(60, 60, periodic=True))
    encoded = AddCycleCountSE((3, 4, 5, 6, 7))(data).cycle_count_se
    assert (encoded == torch.tensor([0, 4, 0, 12, 0])).all()


def test_what_is_not_affordable_is_refused_at_once() -> None:
    dense = from_networkx(networkx.gnp_random_graph(120, 0.5, seed=0))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"graph 0 has too many paths .* max_steps=10,000"):
        AddCycleCountSE(max_steps=10_000)(dense)
    with pytest.raises(ValueError, match="leave out the longest lengths, or raise max_steps"):
        AddCycleCountSE((3, 4, 5, 6), max_steps=10**5, dense_limit=50)(dense)
    assert time.perf_counter() - start < 5


def test_a_hub_with_too_many_paths_is_refused() -> None:
    hub = from_networkx(networkx.complete_bipartite_graph(40, 900))
    with pytest.raises(
        ValueError, match="a node of graph 0 begins more than 1,048,576 paths of up"
    ):
        AddCycleCountSE()(hub)


def test_the_message_names_the_graph() -> None:
    easy, hard = graph(60, [(0, 1)]), from_networkx(networkx.complete_graph(60))
    with pytest.raises(ValueError, match="graph 1 has too many paths"):
        AddCycleCountSE(max_steps=1000)(Batch.from_data_list([easy, hard]))


def test_too_many_to_be_exact() -> None:
    data = from_networkx(networkx.complete_graph(250))
    with pytest.raises(ValueError, match=r"graph 0 has too many cycles of length 8 to .*2\^53"):
        AddCycleCountSE((8,))(data)


@pytest.mark.parametrize("dense_limit", [500, 2])
def test_loops_parallel_edges_weights_and_weight_0(dense_limit: int) -> None:
    encoding = AddCycleCountSE((3, 4), dense_limit=dense_limit)
    edges = [(0, 0), (0, 1), (0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]
    data = graph(5, edges, [1, 2, 3, 0.5, 1, 1, 0])
    assert encoding(data).cycle_count_se.tolist() == [[1, 0]] * 3 + [[0, 0]] * 2


def test_bad_settings() -> None:
    for lengths in ((), (2, 3), (9,), (3, 3), 5, ("a",)):
        with pytest.raises(ValueError, match="lengths is"):
            AddCycleCountSE(lengths)
    assert AddCycleCountSE([3, 5]) == AddCycleCountSE((3, 5))
