"""Heat kernels against scipy's matrix exponential and closed forms."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
import scipy.linalg
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import components, laplacian, same_component
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms import Encoding
from graphpe.transforms.spectral import AddHeatKernelPE, AddHeatKernelSE

INSTANCES = [
    AddHeatKernelSE(),
    AddHeatKernelSE((0.1, 2), space_dimension=2, include_zero=True, normalization="sym"),
    AddHeatKernelPE(),
    AddHeatKernelPE((0.5, 3), normalization="rw"),
    AddHeatKernelSE((1.0,), dtype="float64"),
    AddHeatKernelPE(dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


def kernel(data: Data, time: float, normalization: str = "none") -> np.ndarray:
    return scipy.linalg.expm(-time * laplacian(data, normalization))


def diagonals(data: Data, times, **settings) -> np.ndarray:
    return AddHeatKernelSE(times, dtype="float64", **settings)(data).heat_kernel_se.numpy()


@given(random_graphs(max_nodes=20), st.sampled_from(["none", "sym", "rw"]))
def test_the_kernel_is_the_matrix_exponential(data: Data, normalization: str) -> None:
    n, times = data.num_nodes, (0.3, 1.0, 7.0)
    encoded = AddHeatKernelPE(times, normalization=normalization, dtype="float64")(data)
    kernels = encoded.heat_kernel_pe.numpy().reshape(n, n, 3)
    for number, time in enumerate(times):
        expected = kernel(data, time, normalization)
        np.testing.assert_allclose(kernels[..., number], expected, atol=1e-11)
    assert (kernels >= 0).all()
    assert not kernels[~same_component(data)].any()


@given(random_graphs(max_nodes=20), st.sampled_from(["none", "sym"]), st.sampled_from([0, 1, 2.5]))
def test_diagonals_with_and_without_zero_modes(data: Data, normalization: str, s: float) -> None:
    times = (0.5, 1, 20)
    degree = np.maximum(-laplacian(data) * (1 - np.eye(data.num_nodes)), 0).sum(1)
    scale = np.ones(data.num_nodes) if normalization == "none" else np.where(degree > 0, degree, 1)
    zero_part = np.zeros(data.num_nodes)
    for component in components(data):
        zero_part[component] = scale[component] / scale[component].sum()
    settings = {"normalization": normalization, "space_dimension": s}
    without = diagonals(data, times, **settings)
    including = diagonals(data, times, include_zero=True, **settings)
    for number, time in enumerate(times):
        expected = np.diag(kernel(data, time, normalization))
        correction = time ** (s / 2)
        np.testing.assert_allclose(including[:, number], expected * correction, atol=1e-10)
        np.testing.assert_allclose(
            without[:, number], (expected - zero_part) * correction, atol=1e-10
        )


def test_the_defaults_are_those_of_graphgps() -> None:
    data = zoo()["path"]
    values, vectors = np.linalg.eigh(laplacian(data))
    expected = np.exp(-np.outer(np.arange(1, 21), values[1:])) @ (vectors[:, 1:] ** 2).T
    np.testing.assert_allclose(AddHeatKernelSE()(data).heat_kernel_se, expected.T, atol=1e-6)


def test_rw_has_the_diagonal_of_sym() -> None:
    data = zoo()["star (one eigenvalue many times)"]
    expected = np.diag(kernel(data, 2.0, "rw"))
    got = diagonals(data, (2.0,), include_zero=True, normalization="sym")[:, 0]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_complete_graph_in_closed_form() -> None:
    n = 6
    expected = (1 - 1 / n) * np.exp(-n * np.array([0.1, 1.0]))
    got = diagonals(zoo()["complete"], (0.1, 1.0))
    np.testing.assert_allclose(got, np.tile(expected, (n, 1)), rtol=1e-12)


def test_a_long_circle_decays_like_a_line_until_the_correction() -> None:
    """On a line the kernel is e^{-2t} I_0(2t) ~ 1/√(4πt): with s = 1 it levels off."""
    data = from_networkx(networkx.cycle_graph(400))
    corrected = diagonals(data, (50.0, 100.0), space_dimension=1, include_zero=True)
    np.testing.assert_allclose(corrected, 1 / math.sqrt(4 * math.pi), rtol=2e-3)


def test_a_nearly_cut_edge_is_no_zero_mode() -> None:
    """An eigenvalue below all rounding counts as nonzero: the graph is connected."""
    data = graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1e-30, 1.0])
    expected = np.diag(kernel(data, 1.0)) - 0.25
    np.testing.assert_allclose(diagonals(data, (1.0,))[:, 0], expected, atol=1e-12)


def test_an_isolated_node_changes_nothing_for_the_others() -> None:
    data = zoo()["cycle (double eigenvalues)"]
    alone = diagonals(data, (1.0, 2.0))
    data.num_nodes += 2
    more = diagonals(data, (1.0, 2.0))
    np.testing.assert_allclose(more[:8], alone, atol=1e-13)
    assert not more[8:].any()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_weights_are_inverse_times(scale: float) -> None:
    edges, weights = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], np.array([1.0, 2, 3, 4, 5])
    expected = diagonals(graph(4, edges, torch.from_numpy(weights)), (0.3,))
    scaled = graph(4, edges, torch.from_numpy(weights * scale))
    np.testing.assert_allclose(diagonals(scaled, (0.3 / scale,)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AddHeatKernelSE(()), r"times is \(\)"),
        (lambda: AddHeatKernelSE(3), "times is 3"),
        (lambda: AddHeatKernelSE((1, 0)), r"times\[1\] is 0; it must be a finite number > 0"),
        (lambda: AddHeatKernelSE((1, math.nan)), r"times\[1\] is nan"),
        (lambda: AddHeatKernelSE((math.inf,)), r"times\[0\] is inf"),
        (lambda: AddHeatKernelSE(space_dimension=-1), "space_dimension is -1"),
        (lambda: AddHeatKernelSE(normalization="rw"), "it must be 'none' or 'sym'"),
        (lambda: AddHeatKernelPE(normalization="l"), "it must be 'none', 'sym' or 'rw'"),
        (lambda: AddHeatKernelPE(attr_name=None), "describes pairs, which cannot be concatenated"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_times_may_be_a_list_or_numpy_numbers() -> None:
    """Lists come from YAML; the settings stay hashable, and their repr rebuilds them."""
    encoding = AddHeatKernelSE([1, np.float64(0.5), np.int64(3)])
    assert encoding == AddHeatKernelSE((1, 0.5, 3))
    assert hash(encoding) == hash(AddHeatKernelSE((1, 0.5, 3)))
    assert eval(repr(encoding)) == encoding


def test_a_large_graph_is_refused_with_the_alternative() -> None:
    with pytest.raises(ValueError, match=r"9,000 nodes and AddHeatKernelPE has only a dense form"):
        AddHeatKernelPE()(graph(9000))
