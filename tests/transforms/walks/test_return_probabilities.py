"""AddRandomWalkPE: the definition, PyG on ordinary graphs, and right values where others are wrong."""

from __future__ import annotations

import tracemalloc
import warnings

import networkx
import numpy as np
import pytest
import torch
import torch_geometric.transforms as pyg_transforms
from adjacency_oracle import transition_matrix
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms import AddRandomWalkPE

INSTANCES = [
    AddRandomWalkPE(9, dense_limit=7),
    AddRandomWalkPE(steps=(4, 0, 7), space_dimension=2, samples=8),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddRandomWalkPE) -> None:
    check_encoding(encoding)


def return_probabilities(data: Data, steps: int) -> np.ndarray:
    """diag(P^k) by repeated multiplication, float64."""
    n = data.num_nodes
    transition = transition_matrix(data)
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
        with pytest.warns(UserWarning, match="no walk of up to 4 steps back to any node"):
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


@pytest.mark.parametrize("dense_limit", [500, 2])
def test_chosen_steps_are_the_columns_of_the_walk(dense_limit: int) -> None:
    data = zoo()["isolated nodes"]
    every = AddRandomWalkPE(7, dense_limit=dense_limit)(data).random_walk_pe
    chosen = AddRandomWalkPE(steps=[6, 0, 1, 2], dense_limit=dense_limit)(data).random_walk_pe
    assert torch.equal(chosen[:, [0, 2, 3]], every[:, [5, 0, 1]])
    assert torch.equal(chosen[:, 1], torch.ones(6))  # isolated nodes too: no step is taken
    assert AddRandomWalkPE(steps=[2, 4]) == AddRandomWalkPE(steps=(2, 4))


@pytest.mark.parametrize("dense_limit", [500, 2])
def test_the_space_dimension_makes_up_for_the_decay(dense_limit: int) -> None:
    """On a long path, a line, a walk is back after an even number of steps k with √(2/(πk))."""
    data = from_networkx(networkx.path_graph(401))
    transform = AddRandomWalkPE(
        steps=(0, 50, 100), space_dimension=1, dense_limit=dense_limit, dtype="float64"
    )
    middle = transform(data).random_walk_pe[200]
    assert middle[0] == 0
    np.testing.assert_allclose(middle[1:], np.sqrt(2 / np.pi), rtol=0.01)
    plain = AddRandomWalkPE(3)(data).random_walk_pe
    corrected = AddRandomWalkPE(3, space_dimension=3)(data).random_walk_pe
    torch.testing.assert_close(corrected, plain * torch.tensor([1, 2**1.5, 3**1.5]))


def test_b16_samples_estimate_a_large_graph_with_standard_errors() -> None:
    data = from_networkx(networkx.random_regular_graph(4, 900, seed=0))
    exact = AddRandomWalkPE(steps=(0, 2, 4, 5))(data)
    assert "random_walk_pe_standard_error" not in exact
    sampled = AddRandomWalkPE(steps=(0, 2, 4, 5), samples=200)(data)
    error = sampled.random_walk_pe_standard_error
    assert not error[:, :2].any()
    assert error[:, 2:].all()
    off = (sampled.random_walk_pe - exact.random_walk_pe)[:, 2:] / error[:, 2:]
    assert 0.9 < float(off.std()) < 1.1
    assert abs(float(off.mean())) < 0.1
    other = AddRandomWalkPE(steps=(0, 2, 4, 5), samples=200, seed=1)(data)
    assert not torch.equal(other.random_walk_pe, sampled.random_walk_pe)


def test_samples_leave_small_graphs_exact() -> None:
    data = zoo()["path"]
    sampled = AddRandomWalkPE(6, samples=2)(data)
    assert torch.equal(sampled.random_walk_pe, AddRandomWalkPE(6)(data).random_walk_pe)
    assert torch.equal(sampled.random_walk_pe_standard_error, torch.zeros(9, 6))


def test_an_undirected_graph_without_a_walk_back_is_no_cause_to_warn() -> None:
    for dense_limit in (500, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not AddRandomWalkPE(1, dense_limit=dense_limit)(zoo()["path"])[
                "random_walk_pe"
            ].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "takes walk_length or steps, got neither"),
        ({"walk_length": 3, "steps": (1,)}, "takes walk_length or steps, got both"),
        ({"steps": ()}, r"steps is \(\); it must be a list"),
        ({"steps": 4}, "steps is 4; it must be a list"),
        ({"steps": (1, -1)}, r"steps\[1\] is -1"),
        ({"steps": (1.5,)}, r"steps\[0\] is 1.5"),
        ({"steps": (2, 2)}, "with a number twice"),
        ({"walk_length": 3, "space_dimension": -1}, "space_dimension is -1"),
        ({"walk_length": 3, "samples": 1}, "samples is 1"),
        ({"walk_length": 3, "samples": 0}, "samples is 0"),
        ({"walk_length": 3, "seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddRandomWalkPE(**settings)
