"""Effective resistance and commute time: networkx, Foster, random walks, and one large graph."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import adjacency, components, pseudo_inverse, same_component
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms import Encoding
from graphpe.transforms.spectral import AddCommuteTimePE, AddEffectiveResistancePE

INSTANCES = [
    AddEffectiveResistancePE(),
    AddEffectiveResistancePE("edge", cap=0.5, dense_limit=7),
    AddCommuteTimePE(),
    AddCommuteTimePE("edge", dense_limit=7),
    AddEffectiveResistancePE(dtype="float64"),
    AddCommuteTimePE(dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


def of_pairs(data: Data, cls=AddEffectiveResistancePE, **settings) -> np.ndarray:
    encoding = cls(dtype="float64", **{"cap": 1e15, **settings})
    value = encoding(data)[encoding.attr_name]
    return value.numpy().reshape(data.num_nodes, data.num_nodes, 2)


def of_edges(data: Data, cls=AddEffectiveResistancePE, **settings) -> np.ndarray:
    encoding = cls("edge", dtype="float64", **{"cap": 1e15, **settings})
    return encoding(data)[encoding.attr_name].numpy()


@given(random_graphs(max_nodes=20))
def test_pairs_by_the_pseudo_inverse(data: Data) -> None:
    green, same = pseudo_inverse(data), same_component(data)
    expected = np.diag(green)[:, None] + np.diag(green)[None] - 2 * green
    got = of_pairs(data)
    scale = max(1.0, expected.max(initial=0))
    np.testing.assert_allclose(got[same][:, 0], expected[same], atol=1e-9 * scale)
    assert (got[~same] == [1e15, 1.0]).all()
    assert not got[same][:, 1].any()


@pytest.mark.parametrize("seed", range(3))
def test_networkx(seed: int) -> None:
    nx_graph = networkx.connected_watts_strogatz_graph(12, 4, 0.4, seed=seed)
    expected = networkx.resistance_distance(nx_graph)
    got = of_pairs(from_networkx(nx_graph))[..., 0]
    for i in range(12):
        for j in range(12):
            assert got[i, j] == pytest.approx(expected[i][j], abs=1e-10)


@given(random_graphs(max_nodes=25), st.sampled_from([500, 3]))
def test_foster(data: Data, dense_limit: int) -> None:
    """The sum of w R over the edges is n - c; every edge is there in both directions."""
    weight = np.ones(data.num_edges) if "edge_weight" not in data else data.edge_weight.numpy()
    resistance = of_edges(data, dense_limit=dense_limit)
    total = (weight * resistance[:, 0]).sum() / 2
    assert total == pytest.approx(data.num_nodes - len(components(data)), abs=1e-6)
    assert not resistance[:, 1].any()


@given(random_graphs(max_nodes=25), st.sampled_from([AddEffectiveResistancePE, AddCommuteTimePE]))
def test_edges_are_entries_of_pairs_dense_or_sparse(data: Data, cls: type) -> None:
    source, target = data.edge_index.numpy()
    expected = of_pairs(data, cls)[source, target]
    np.testing.assert_allclose(of_edges(data, cls), expected, rtol=1e-12)
    np.testing.assert_allclose(of_edges(data, cls, dense_limit=1), expected, rtol=1e-9)


@given(random_graphs(max_nodes=12))
def test_commute_times_are_expected_steps_there_and_back(data: Data) -> None:
    matrix = adjacency(data)
    for component in components(data):
        own = matrix[np.ix_(component, component)]
        hitting = np.zeros_like(own)
        for target in range(len(component)):
            others = np.delete(np.arange(len(component)), target)
            walk = own[np.ix_(others, others)] / own[others].sum(1, keepdims=True)
            steps = np.linalg.solve(np.eye(len(others)) - walk, np.ones(len(others)))
            hitting[others, target] = steps
        got = of_pairs(data, AddCommuteTimePE)[np.ix_(component, component)][..., 0]
        np.testing.assert_allclose(got, hitting + hitting.T, rtol=1e-7, atol=1e-9)


def test_edges_shuffled_after_batching_keep_their_values() -> None:
    batch = Batch.from_data_list([zoo()["path"], zoo()["complete"], zoo()["loops"]])
    expected = AddEffectiveResistancePE("edge")(batch).effective_resistance_pe
    order = torch.randperm(batch.num_edges)
    batch.edge_index = batch.edge_index[:, order]
    got = AddEffectiveResistancePE("edge")(batch).effective_resistance_pe
    assert torch.equal(got, expected[order])


@pytest.mark.parametrize("dense_limit", [500, 2])
def test_an_edge_of_weight_zero_connects_nothing(dense_limit: int) -> None:
    data = graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.0, 2.0])
    got = of_edges(data, cap=7.0, dense_limit=dense_limit)
    assert got[:3].tolist() == [[1.0, 0.0], [7.0, 1.0], [0.5, 0.0]]


def test_finite_values_are_cut_at_the_cap_without_the_flag() -> None:
    got = of_pairs(zoo()["path"], cap=3.0)
    assert got[0, 8].tolist() == [3.0, 0.0]
    assert got[0, 2, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scaled_weights(scale: float) -> None:
    edges, weights = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], np.array([1.0, 2, 3, 4, 5])
    one, other = (graph(4, edges, torch.from_numpy(weights * s)) for s in (1.0, scale))
    np.testing.assert_allclose(of_pairs(other)[..., 0] * scale, of_pairs(one)[..., 0], rtol=1e-12)
    times = [of_pairs(data, AddCommuteTimePE)[..., 0] for data in (one, other)]
    np.testing.assert_allclose(*times, rtol=1e-12)  # a walk does not see the scale


def test_a_directed_graph_is_symmetrised_or_refused() -> None:
    dag = graph(3, [(0, 1), (1, 2)], directed=True)
    with pytest.warns(UserWarning, match="directed and were symmetrised"):
        assert of_edges(dag)[:, 0].tolist() == pytest.approx([1.0, 1.0])
    with pytest.raises(ValueError, match="is directed, and AddCommuteTimePE has directed='error'"):
        AddCommuteTimePE(directed="error")(dag)


# --- one large graph ---------------------------------------------------------------------------------------------


def test_edges_of_a_large_torus_in_closed_form() -> None:
    """All edges of one orientation are alike, so by Foster a square torus has R = (n - 1) / e each."""
    torus = from_networkx(networkx.grid_2d_graph(30, 30, periodic=True))
    got = of_edges(torus)
    n, e = torus.num_nodes, torus.num_edges // 2
    np.testing.assert_allclose(got[:, 0], (n - 1) / e, rtol=1e-10)


def test_a_large_graph_of_many_components() -> None:
    nx_graph = networkx.disjoint_union_all(
        [networkx.grid_2d_graph(15, 20), networkx.cycle_graph(250)]
        + [networkx.cycle_graph(5)] * 30
        + [networkx.empty_graph(40)]
    )
    data = from_networkx(nx_graph)
    sparse = of_edges(data)
    dense = of_edges(data, dense_limit=1000)
    np.testing.assert_allclose(sparse, dense, rtol=1e-10)
    np.testing.assert_allclose(
        of_edges(data, AddCommuteTimePE), of_edges(data, AddCommuteTimePE, dense_limit=1000)
    )


def test_a_long_path_has_its_edges() -> None:
    n = 20_000
    data = graph(n, [(i, i + 1) for i in range(n - 1)])
    np.testing.assert_allclose(of_edges(data)[:, 0], 1.0, rtol=1e-9)


def test_what_is_too_large_names_the_alternative() -> None:
    expander = from_networkx(networkx.random_regular_graph(6, 4000, seed=0))
    with pytest.raises(
        ValueError, match=r"graph 0: .* factor .* 4,000 nodes.* take AddRandomWalkPE"
    ):
        of_edges(expander)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AddEffectiveResistancePE("node"), "level is 'node'; it must be 'pair' or 'edge'"),
        (lambda: AddEffectiveResistancePE(cap=0), "cap is 0; it must be a finite number > 0"),
        (lambda: AddCommuteTimePE(cap=float("inf")), "cap is inf"),
        (
            lambda: AddCommuteTimePE(cap=10**40),
            "cap is 10+; it must be a finite number > 0 and < 1e",
        ),
        (lambda: AddCommuteTimePE(attr_name=None), "cannot be concatenated"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("encoding", [AddEffectiveResistancePE(), AddCommuteTimePE()], ids=repr)
def test_a_graph_too_large_for_pairs_is_told_of_an_estimate(encoding: Encoding) -> None:
    with pytest.raises(ValueError, match=r"take AddRandomWalkPE\(16, samples=64\) instead"):
        encoding(graph(20_000))


def test_a_whole_number_as_cap() -> None:
    values = AddEffectiveResistancePE(cap=10**30)(graph(2)).effective_resistance_pe
    assert values[1].tolist() == [pytest.approx(1e30), 1]
