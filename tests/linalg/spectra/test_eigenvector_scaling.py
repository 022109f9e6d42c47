"""Scales of eigenvectors, written out for one column."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from graphpe.linalg.spectra.eigenvector_scaling import arcsine_wavelengths, rescale_eigenvectors

COLUMN = np.array([0.5, -0.5, 0.1, 0.7])
MODULUS = np.abs(COLUMN)
SOFTMAX = np.exp(MODULUS) / np.exp(MODULUS).sum()
LARGEST = 0.7
SINGLE = torch.ones(1, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("l2", lambda root: COLUMN),
        ("l1", lambda root: COLUMN / 1.8),
        ("max", lambda root: COLUMN / LARGEST),
        ("wavelength", lambda root: COLUMN * math.pi / (2 * LARGEST * root)),
        ("wavelength-asin", lambda root: np.arcsin(COLUMN / LARGEST) / root),
        ("soft", lambda root: COLUMN / ((SOFTMAX * MODULUS).sum() * root)),
    ],
)
@pytest.mark.parametrize(("value", "root"), [(0.25, 0.5), (0.0, 1.0)])
def test_the_formula(scale, expected, value, root):
    vectors = torch.from_numpy(np.stack([COLUMN, np.zeros(4)], axis=1))[None]
    values = torch.tensor([[value, 0.0]], dtype=torch.float64)
    if scale == "wavelength-asin":
        scaled = arcsine_wavelengths(vectors, values, 2.0)
    else:
        scaled = rescale_eigenvectors(vectors, values, SINGLE, 2.0, scale)
    np.testing.assert_allclose(scaled[0, :, 0], expected(root), rtol=1e-14)
    assert not scaled[0, :, 1].any()  # padding stays zero


def test_the_wavelength_of_a_path_is_counted_in_nodes():
    """On a long path asin of the first eigenvectors goes up and down in steps of one per node."""
    n = 400
    node = torch.arange(n) + 0.5
    vectors = torch.stack([torch.cos(math.pi * j * node / n) for j in (1, 2, 5)], dim=1).double()
    values = torch.tensor([[2 - 2 * math.cos(math.pi * j / n) for j in (1, 2, 5)]])
    scaled = arcsine_wavelengths(vectors[None], values.double(), 4.0)[0]
    steps = scaled.diff(dim=0).abs()
    assert float(steps.median()) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("scale", ["l2", "l1", "max", "wavelength", "soft"])
def test_columns_of_an_eigenspace_turn_with_their_basis(scale):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(1, 7, 3, dtype=torch.float64, generator=generator)
    vectors = torch.linalg.qr(vectors).Q
    values = torch.tensor([[0.3, 0.5, 0.5]], dtype=torch.float64)
    starts = torch.tensor([[True, True, False]])
    turn = torch.eye(3, dtype=torch.float64)
    turn[1:, 1:] = torch.tensor([[0.6, 0.8], [-0.8, 0.6]])
    torch.testing.assert_close(
        rescale_eigenvectors(vectors @ turn, values, starts, 2.0, scale),
        rescale_eigenvectors(vectors, values, starts, 2.0, scale) @ turn,
    )


def test_an_eigenvalue_within_the_rounding_of_the_solver_counts_as_that_rounding():
    """The solver may have returned anything so small for it, also the least number that there is."""
    vectors = torch.from_numpy(COLUMN)[None, :, None].expand(2, 4, 1)
    values, bound = torch.tensor([[[1e-300], [1e-13]], [[8.0], [4.0]]], dtype=torch.float64)
    starts, floor = torch.ones(2, 1, dtype=torch.bool), math.sqrt(8 * 2**-52)
    scaled = arcsine_wavelengths(vectors, values, bound)[..., 0].numpy()
    np.testing.assert_allclose(scaled[0], np.arcsin(COLUMN / LARGEST) / floor)
    np.testing.assert_allclose(scaled[1], np.arcsin(COLUMN / LARGEST) / math.sqrt(1e-13))
    scaled = rescale_eigenvectors(vectors, values, starts, bound, "wavelength")[..., 0].numpy()
    np.testing.assert_allclose(scaled[0], COLUMN * math.pi / (2 * LARGEST * floor))


def test_graphs_without_nodes():
    vectors, values = torch.zeros(2, 0, 0), torch.zeros(2, 0)
    assert rescale_eigenvectors(vectors, values, values > 0, 2.0, "max").shape == (2, 0, 0)
    assert arcsine_wavelengths(vectors, values, 2.0).shape == (2, 0, 0)
