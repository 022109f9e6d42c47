"""Wave kernel signature and density of states: their formulas written out."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from spectral_oracles import components, laplacian
from torch_geometric.data import Data

import graphpe
from graphpe.testing import check_encoding
from graphpe.transforms import Encoding
from graphpe.transforms.spectral import AddHeatKernelSE, AddSpectralDensitySE, AddWaveKernelSE

INSTANCES = [
    AddWaveKernelSE(),
    AddWaveKernelSE(40, width=0.1),
    AddSpectralDensitySE(),
    AddWaveKernelSE(dtype="float64"),
    AddSpectralDensitySE(dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


@given(random_graphs(max_nodes=15))
def test_wave_kernel_by_its_formula(data: Data) -> None:
    encoded = AddWaveKernelSE(5, smallest=0.1, width=2.0, dtype="float64")(data)
    values, vectors = np.linalg.eigh(laplacian(data, "sym"))
    kept = slice(len(components(data)), None)
    logarithms = np.log(values[kept])
    energies = np.linspace(math.log(0.1), math.log(2), 5)
    sigma = 2.0 * (energies[1] - energies[0])
    weights = np.exp(-((logarithms[:, None] - energies) ** 2) / (2 * sigma**2))
    expected = vectors[:, kept] ** 2 @ (weights / np.maximum(weights.sum(0), 1e-300))
    np.testing.assert_allclose(encoded.wave_kernel_se, expected, atol=1e-9)


def test_no_eigenvalue_near_an_energy_is_no_division_by_zero() -> None:
    """All weights underflow; the nearest eigenvalue remains."""
    encoded = AddWaveKernelSE(30, width=0.1, dtype="float64")(zoo()["complete"])
    np.testing.assert_allclose(encoded.wave_kernel_se, 1 / 6, rtol=1e-9)


def test_an_isolated_node_changes_nothing_for_the_others() -> None:
    data = zoo()["path"]
    alone = AddWaveKernelSE(dtype="float64")(data).wave_kernel_se
    data.num_nodes += 1
    more = AddWaveKernelSE(dtype="float64")(data).wave_kernel_se
    np.testing.assert_allclose(more[:9], alone, atol=1e-12)
    assert not more[9].any()


@given(random_graphs(max_nodes=15))
def test_density_sums_to_one_and_keeps_the_mean(data: Data) -> None:
    encoded = AddSpectralDensitySE(9, dtype="float64")(data)
    density = encoded.spectral_density_se[0].numpy()
    assert density.sum() == pytest.approx(1)
    assert (density >= 0).all()
    mean = np.trace(laplacian(data, "sym")) / data.num_nodes
    assert density @ np.linspace(0, 2, 9) == pytest.approx(mean, abs=1e-10)


def test_density_in_closed_form() -> None:
    density = AddSpectralDensitySE(5)(zoo()["star (one eigenvalue many times)"])
    assert density.spectral_density_se[0].tolist() == pytest.approx([1 / 8, 0, 6 / 8, 0, 1 / 8])
    assert AddSpectralDensitySE(3)(graph(4)).spectral_density_se[0].tolist() == [1, 0, 0]
    assert AddSpectralDensitySE(3)(graph(0)).spectral_density_se[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AddWaveKernelSE(1), "energies is 1; it must be an integer >= 2"),
        (lambda: AddWaveKernelSE(0), "energies is 0"),
        (lambda: AddWaveKernelSE(smallest=2), "smallest is 2; it must be .* > 0 and < 2"),
        (lambda: AddWaveKernelSE(width=0.01), "width is 0.01; .* >= 0.1"),
        (lambda: AddSpectralDensitySE(True), "bins is True"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("n", [5, 6, 7, 20, 25])
@pytest.mark.parametrize(
    "encoding", [AddWaveKernelSE(16, dtype="float64"), AddHeatKernelSE((1.0,), dtype="float64")]
)
def test_a_float64_batch_has_the_bytes_of_its_graphs(n: int, encoding: Encoding) -> None:
    graphs = [from_networkx(networkx.gnp_random_graph(n, 0.5, seed=seed)) for seed in range(8)]
    for got, data in zip(graphpe.encode(graphs, [encoding], progress=False), graphs, strict=True):
        assert torch.equal(got[encoding.attr_name], encoding(data)[encoding.attr_name])
