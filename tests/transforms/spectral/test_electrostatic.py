"""Electrostatic encodings against numpy's pseudo-inverse and GraphGPS' own formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from spectral_oracles import adjacency, components, pseudo_inverse, same_component
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms import Encoding
from graphpe.transforms.spectral import AddElectrostaticPE, AddElectrostaticSE

INSTANCES = [
    AddElectrostaticPE(),
    AddElectrostaticSE(),
    AddElectrostaticSE(compat="graphgps"),
    AddElectrostaticPE(dtype="float64"),
    AddElectrostaticSE(dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


def potentials(data: Data) -> np.ndarray:
    encoded = AddElectrostaticPE(dtype="float64")(data)
    return encoded.electrostatic_pe.numpy().reshape(data.num_nodes, data.num_nodes)


def statistics(data: Data, **settings) -> np.ndarray:
    return AddElectrostaticSE(dtype="float64", **settings)(data).electrostatic_se.numpy()


def expected_potentials(data: Data) -> np.ndarray:
    green = pseudo_inverse(data)
    return (green - np.diag(green)[None, :]) * same_component(data)


def of_graphgps(data: Data) -> np.ndarray:
    """What GraphGPS computes, with 0 where a node without edges makes it NaN."""
    matrix = torch.from_numpy(adjacency(data))
    degree = matrix.sum(1)
    walk = matrix / degree.where(degree > 0, 1.0)[:, None]
    green = torch.linalg.pinv(torch.diag(degree) - matrix, rtol=1e-10, hermitian=True)
    potential = green - green.diag()
    columns = [
        potential.min(dim=0)[0],
        potential.max(dim=0)[0],
        potential.mean(dim=0),
        potential.std(dim=0),
        potential.min(dim=1)[0],
        potential.max(dim=0)[0],
        potential.mean(dim=1),
        potential.std(dim=1),
        (walk * potential).sum(dim=0),
        (walk * potential).sum(dim=1),
    ]
    return torch.stack(columns, dim=1).nan_to_num(0.0).numpy()


@given(random_graphs(max_nodes=20))
def test_potentials_by_the_pseudo_inverse(data: Data) -> None:
    expected = expected_potentials(data)
    np.testing.assert_allclose(
        potentials(data), expected, atol=1e-9 * max(1, abs(expected).max(initial=0))
    )


@given(random_graphs(max_nodes=20))
def test_statistics_over_the_component_of_a_node(data: Data) -> None:
    potential, matrix = expected_potentials(data), adjacency(data)
    degree = matrix.sum(1)
    walk = matrix / np.where(degree > 0, degree, 1.0)[:, None]
    expected = np.zeros((data.num_nodes, 10))
    for component in components(data):
        own = potential[np.ix_(component, component)]
        spread = own.std(0, ddof=1) if len(own) > 1 else 0.0
        row_spread = own.std(1, ddof=1) if len(own) > 1 else 0.0
        both = [(own.min(0), own.max(0), own.mean(0), spread)]
        both += [(own.min(1), own.max(1), own.mean(1), row_spread)]
        for column, value in enumerate([*both[0], *both[1]]):
            expected[component, column] = value
    expected[:, 8] = (walk * potential).sum(0)
    expected[:, 9] = (walk * potential).sum(1)
    scale = max(1.0, abs(expected).max())
    np.testing.assert_allclose(statistics(data), expected, atol=1e-9 * scale)


@given(random_graphs(max_nodes=20))
def test_compat_is_graphgps_on_any_graph(data: Data) -> None:
    expected = of_graphgps(data)
    scale = max(1.0, abs(expected).max())
    np.testing.assert_allclose(statistics(data, compat="graphgps"), expected, atol=1e-8 * scale)


@pytest.mark.parametrize("name", ["path", "cycle (double eigenvalues)", "complete", "large"])
def test_both_rules_agree_on_connected_graphs(name: str) -> None:
    data = zoo()[name]
    np.testing.assert_allclose(statistics(data), of_graphgps(data), atol=1e-10)


def test_no_number_for_what_does_not_interact() -> None:
    """GraphGPS has -G_jj between components, which looks like a potential."""
    data = graph(5, [(0, 1), (1, 2), (3, 4)])
    potential = potentials(data)
    assert not potential[:3, 3:].any()
    assert not potential[3:, :3].any()
    assert (potential[:3, :3][~np.eye(3, dtype=bool)] < 0).all()


def test_an_isolated_node_changes_nothing_for_the_others() -> None:
    data = zoo()["path"]
    alone = statistics(data)
    data.num_nodes += 1
    more = statistics(data)
    np.testing.assert_allclose(more[:9], alone, atol=1e-13)
    assert not more[9:].any()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_weights_are_conductances(scale: float) -> None:
    edges, weights = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], np.array([1.0, 2, 3, 4, 5])
    expected = potentials(graph(4, edges, torch.from_numpy(weights)))
    scaled = potentials(graph(4, edges, torch.from_numpy(weights * scale)))
    np.testing.assert_allclose(scaled * scale, expected, rtol=1e-12, atol=1e-15)


def test_components_of_very_different_weights() -> None:
    """One decomposition of the whole graph would lose the second component in the rounding of the first."""
    data = graph(
        6, [(0, 1), (1, 2), (3, 4), (4, 5)], torch.tensor([1e12, 2e12, 1e-12, 2e-12]).double()
    )
    expected = expected_potentials(data)
    np.testing.assert_allclose(potentials(data), expected, rtol=1e-9, atol=1e-15)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="compat is 'gps'; it must be None or 'graphgps'"):
        AddElectrostaticSE(compat="gps")
