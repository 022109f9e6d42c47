"""Scales of eigenvectors, written out for one column."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from graphpe.linalg.spectra.eigenvector_scaling import rescale_eigenvectors

COLUMN = np.array([0.5, -0.5, 0.1, 0.7])
MODULUS = np.abs(COLUMN)
SOFTMAX = np.exp(MODULUS) / np.exp(MODULUS).sum()
LARGEST = 0.7


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
    scaled = rescale_eigenvectors(vectors, torch.tensor([[value, 0.0]], dtype=torch.float64), scale)
    np.testing.assert_allclose(scaled[0, :, 0], expected(root), rtol=1e-14)
    assert not scaled[0, :, 1].any()  # padding stays zero


def test_the_wavelength_of_a_path_is_counted_in_nodes():
    """On a long path asin of the first eigenvectors goes up and down in steps of one per node."""
    n = 400
    node = torch.arange(n) + 0.5
    vectors = torch.stack([torch.cos(math.pi * j * node / n) for j in (1, 2, 5)], dim=1).double()
    values = torch.tensor([[2 - 2 * math.cos(math.pi * j / n) for j in (1, 2, 5)]])
    scaled = rescale_eigenvectors(vectors[None], values.double(), "wavelength-asin")[0]
    steps = scaled.diff(dim=0).abs()
    assert float(steps.median()) == pytest.approx(1.0, abs=1e-3)


def test_graphs_without_nodes():
    assert rescale_eigenvectors(torch.zeros(2, 0, 0), torch.zeros(2, 0), "max").shape == (2, 0, 0)
