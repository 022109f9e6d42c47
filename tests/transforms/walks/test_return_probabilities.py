"""AddRandomWalkPE: the definition, PyG on ordinary graphs, and right values where others are wrong."""

from __future__ import annotations

import tracemalloc
import warnings

import networkx
import numpy as np
import pytest
import torch
import torch_geometric.transforms as pyg_transforms
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.transforms import AddRandomWalkPE


def return_probabilities(data: Data, steps: int) -> np.ndarray:
    """diag(P^k) by repeated multiplication, float64."""
    n = data.num_nodes
    weights = data.get("edge_weight")
    adjacency = np.zeros((n, n))
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        adjacency[source, target] += 1.0 if weights is None else float(weights[edge])
    degree = adjacency.sum(1, keepdims=True)
    transition = np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
    power, columns = np.eye(n), []
    for _ in range(steps):
        power = power @ transition
        columns.append(np.diag(power))
    return np.stack(columns, axis=-1) if n else np.zeros((0, steps))


@given(random_graphs(max_nodes=20), st.integers(1, 24), st.sampled_from([500, 3]))
def test_the_definition_on_any_graph(data: Data, steps: int, dense_limit: int) -> None:
    encoded = AddRandomWalkPE(steps, dtype="float64", dense_limit=dense_limit)(data)
    np.testing.assert_allclose(
        encoded.random_walk_pe, return_probabilities(data, steps), atol=1e-12
    )


@given(random_graphs(max_nodes=30), st.integers(1, 40))
def test_float32_is_right_to_1e_6(data: Data, steps: int) -> None:
    encoded = AddRandomWalkPE(steps)(data).random_walk_pe
    np.testing.assert_allclose(encoded, return_probabilities(data, steps), atol=1e-6)


@given(random_graphs(max_nodes=20, directed=True), st.sampled_from([500, 3]))
@pytest.mark.filterwarnings("ignore:AddRandomWalkPE. some directed graphs")
def test_walks_follow_directed_edges(data: Data, dense_limit: int) -> None:
    encoded = AddRandomWalkPE(8, dtype="float64", dense_limit=dense_limit)(data)
    np.testing.assert_allclose(encoded.random_walk_pe, return_probabilities(data, 8), atol=1e-12)


@given(random_graphs(max_nodes=20, weighted=True), st.floats(0.1, 50))
def test_scaling_all_weights_changes_nothing(data: Data, factor: float) -> None:
    scaled = data.clone()
    scaled.edge_weight = data.edge_weight.double() * factor
    one, other = (AddRandomWalkPE(10)(each).random_walk_pe for each in (data, scaled))
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


@given(st.lists(random_graphs(max_nodes=12, weighted=False), min_size=1, max_size=6))
def test_a_batch_is_its_graphs_one_by_one(graphs: list[Data]) -> None:
    transform = AddRandomWalkPE(7)
    batch = transform(Batch.from_data_list(graphs))
    for got, data in zip(batch.to_data_list(), graphs, strict=True):
        assert torch.equal(got.random_walk_pe, transform(data).random_walk_pe)


def test_same_as_pyg_on_ordinary_graphs() -> None:
    for seed in range(5):
        data = from_networkx(networkx.gnp_random_graph(14, 0.35, seed=seed))
        theirs = pyg_transforms.AddRandomWalkPE(9)(data).random_walk_pe
        ours = AddRandomWalkPE(9)(data).random_walk_pe
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


def test_weights_make_probabilities() -> None:
    """PyG gives 'probabilities' 2 and 4 on this path."""
    data = graph(3, [(0, 1), (1, 2)], [0.1, 0.3])
    encoded = AddRandomWalkPE(2)(data).random_walk_pe
    torch.testing.assert_close(encoded[:, 1], torch.tensor([0.25, 1.0, 0.75]))


def test_parallel_edges_add_up() -> None:
    """PyG's dense path overwrites them: half the return probability."""
    once = graph(3, [(0, 1), (0, 2)])
    twice = graph(3, [(0, 1), (0, 1), (0, 2)])
    weighted = graph(3, [(0, 1), (0, 2)], [2.0, 1.0])
    one, two, heavy = (AddRandomWalkPE(4)(data).random_walk_pe for data in (once, twice, weighted))
    assert torch.equal(two, heavy)
    assert not torch.allclose(one, two)


def test_loops_are_kept() -> None:
    data = graph(2, [(0, 0), (0, 1)])
    torch.testing.assert_close(
        AddRandomWalkPE(1)(data).random_walk_pe[:, 0], torch.tensor([0.5, 0.0])
    )


def test_b35_single_atoms_and_isolated_nodes_have_zeros() -> None:
    batch = Batch.from_data_list([graph(1), zoo()["isolated nodes"]])
    encoded = AddRandomWalkPE(4)(batch).random_walk_pe
    assert not encoded[0].any()
    assert not encoded[1].any()
    assert encoded[2].any()


def test_a_dag_has_zeros_and_says_so() -> None:
    dag = graph(4, [(0, 1), (1, 2), (0, 3)], directed=True)
    for dense_limit in (500, 2):
        with pytest.warns(UserWarning, match="no walk back to any node, so their encoding is zero"):
            assert not AddRandomWalkPE(4, dense_limit=dense_limit)(dag).random_walk_pe.any()


def test_a_directed_cycle_comes_back_after_its_length() -> None:
    cycle = graph(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = AddRandomWalkPE(6)(cycle).random_walk_pe
    assert encoded[0].tolist() == [0, 0, 1, 0, 0, 1]


def test_b16_a_large_graph_stays_within_its_memory_budget() -> None:
    data = from_networkx(networkx.random_regular_graph(8, 3000, seed=0))
    tracemalloc.start()
    encoded = AddRandomWalkPE(10)(data).random_walk_pe
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 96 * 2**20  # one dense power alone would be 69 MiB; ten of them are formed
    column = return_probabilities_of(data, 17, 10)
    np.testing.assert_allclose(encoded[17], column, atol=1e-6)


def return_probabilities_of(data: Data, node: int, steps: int) -> list[float]:
    """Return probabilities of one node: a walk from it, step by step."""
    degree = np.bincount(data.edge_index[0], minlength=data.num_nodes)
    mass, result = np.zeros(data.num_nodes), []
    mass[node] = 1.0
    for _ in range(steps):
        source, target = data.edge_index.numpy()
        mass = np.bincount(target, weights=mass[source] / degree[source], minlength=data.num_nodes)
        result.append(mass[node])
    return result


def test_integer_x_is_not_filled_with_zeros() -> None:
    data = zoo()["path"]
    data.x = torch.zeros(9, 1, dtype=torch.long)
    with pytest.raises(ValueError, match=r"x is torch.int64, which cannot hold it"):
        AddRandomWalkPE(2, attr_name=None)(data)
