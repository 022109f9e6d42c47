"""Spectral projectors: closed forms and what a projector is."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import components, laplacian
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms import Encoding
from graphpe.transforms.spectral import AddSpectralProjectorPE

INSTANCES = [
    AddSpectralProjectorPE(4),
    AddSpectralProjectorPE(70, normalization="none"),
    AddSpectralProjectorPE(8, dtype="float64"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


def spaces(data: Data, k: int, normalization: str = "sym"):
    encoded = AddSpectralProjectorPE(k, normalization=normalization, dtype="float64")(data)
    n = data.num_nodes
    return (
        encoded.spectral_projector_pe.numpy().reshape(n, n, k),
        encoded.spectral_projector_eigenvalue[0].numpy(),
        encoded.spectral_projector_multiplicity[0].numpy(),
    )


@given(random_graphs(max_nodes=15), st.sampled_from(["none", "sym"]))
def test_orthogonal_projectors_that_make_up_the_laplacian(data: Data, normalization: str) -> None:
    n, matrix = data.num_nodes, laplacian(data, normalization)
    projectors, values, multiplicities = spaces(data, n, normalization)
    scale = max(1.0, abs(matrix).max())
    np.testing.assert_allclose(projectors.sum(-1), np.eye(n), atol=1e-12)
    np.testing.assert_allclose((projectors * values).sum(-1), matrix, atol=1e-5 * scale)
    for space, multiplicity in enumerate(multiplicities):
        projector = projectors[..., space]
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)
        assert np.trace(projector) == pytest.approx(multiplicity, abs=1e-10)
    count = (multiplicities > 0).sum()
    assert (multiplicities[:count] > 0).all()  # those that exist come first
    assert (np.diff(values[:count]) > 0).all()
    assert multiplicities.sum() == n
    assert multiplicities[0] == len(components(data))


def test_multiplicities_of_a_hypercube_and_of_a_star() -> None:
    _, values, multiplicities = spaces(zoo()["hypercube"], 7)
    assert multiplicities.tolist() == [1, 4, 6, 4, 1, 0, 0]  # 6: more than BasisNet's code takes
    np.testing.assert_allclose(values[:5], [0, 0.5, 1, 1.5, 2], atol=1e-12)
    _, _, multiplicities = spaces(zoo()["star (one eigenvalue many times)"], 3)
    assert multiplicities.tolist() == [1, 6, 1]


def test_complete_graph_in_closed_form() -> None:
    n = 6
    projectors, values, _ = spaces(zoo()["complete"], 2)
    np.testing.assert_allclose(projectors[..., 0], 1 / n, atol=1e-14)
    np.testing.assert_allclose(projectors[..., 1], np.eye(n) - 1 / n, atol=1e-14)
    assert values[1] == pytest.approx(n / (n - 1))


def test_projectors_do_not_depend_on_the_numbering() -> None:
    data = from_networkx(networkx.petersen_graph())
    order = torch.randperm(10)
    renumbered = Data(edge_index=order[data.edge_index], num_nodes=10)
    one, other = spaces(data, 3)[0], spaces(renumbered, 3)[0]
    np.testing.assert_allclose(other[np.ix_(order, order)], one, atol=1e-13)


def test_components_share_the_eigenspace_of_zero() -> None:
    projectors, _, multiplicities = spaces(graph(6, [(1, 2), (2, 4)]), 2)
    assert multiplicities[0] == 4
    expected = np.zeros((6, 6))
    expected[[0, 3, 5], [0, 3, 5]] = 1
    root = np.sqrt([1, 2, 1])
    expected[np.ix_([1, 2, 4], [1, 2, 4])] = np.outer(root, root) / 4
    np.testing.assert_allclose(projectors[..., 0], expected, atol=1e-14)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="k is 0"):
        AddSpectralProjectorPE(0)
    with pytest.raises(ValueError, match="it must be 'sym' or 'none'"):
        AddSpectralProjectorPE(2, normalization="rw")
