"""The parts of the filtered subspace iteration."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from large_graphs import grid, hypercube, random_graph

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers import chebyshev as module
from graphpe.linalg.large.eigensolvers.chebyshev import chebyshev, orthonormalised
from graphpe.linalg.large.eigensolvers.search import Search


def normalised(adjacency):
    return ConnectedLaplacian(adjacency, np.sqrt(adjacency.sum(1)))


def search_of(laplacian, wanted, tolerance, **options):
    known = laplacian.null_vector[:, None]
    return Search(wanted, known, tolerance, np.random.default_rng(0), **options)


@pytest.mark.parametrize("degree", [2, 3, 10, 25])
def test_filter_is_the_chebyshev_polynomial(degree):
    laplacian = normalised(random_graph(100, 8))
    values, vectors = np.linalg.eigh(laplacian.matrix.toarray())
    cut = 0.7
    got = module._filter(laplacian, cut, degree, torch.from_numpy(vectors)).numpy()
    x = (1 + cut / 2 - values) / (1 - cut / 2)
    expected = np.polynomial.chebyshev.chebval(x, [0] * degree + [1])
    np.testing.assert_allclose(got, vectors * expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda block: block,
        lambda block: block.index_fill(1, torch.tensor([2]), 0.0),
        lambda block: block[:, [0, 0, 1, 1, 1, 2]],
        lambda block: block[:, :1] + 1e-9 * block,
        lambda block: 1e-200 * block,
    ],
    ids=["ordinary", "a zero column", "equal columns", "nearly equal columns", "tiny"],
)
def test_basis_is_orthonormal_whatever_the_rank(spoil):
    generator = torch.Generator().manual_seed(0)
    locked = torch.linalg.qr(torch.randn(50, 4, dtype=torch.float64, generator=generator))[0]
    block = spoil(torch.randn(50, 6, dtype=torch.float64, generator=generator))
    basis = orthonormalised(block, locked)
    assert basis.shape == block.shape
    torch.testing.assert_close(
        basis.T @ basis, torch.eye(6, dtype=torch.float64), atol=1e-12, rtol=0
    )
    torch.testing.assert_close(
        locked.T @ basis, torch.zeros(4, 6, dtype=torch.float64), atol=1e-12, rtol=0
    )
    off = block - locked @ (locked.T @ block)
    left = off - basis @ (basis.T @ off)
    assert left.abs().max() <= 1e-12 * max(1e-290, float(off.abs().max()))


def test_float32_as_long_as_it_is_enough(monkeypatch):
    dtypes = []
    true_filter = module._filter

    def recording(laplacian, cut, degree, block):
        dtypes.append(block.dtype)
        return true_filter(laplacian, cut, degree, block)

    monkeypatch.setattr(module, "_filter", recording)
    laplacian = normalised(grid(20, 20))
    assert chebyshev(laplacian, search_of(laplacian, 5, 1e-4)).converged
    assert set(dtypes) == {torch.float32}
    dtypes.clear()
    outcome = chebyshev(laplacian, search_of(laplacian, 5, 1e-12))
    assert outcome.converged
    assert dtypes[0] == torch.float32
    assert dtypes[-1] == torch.float64
    values = laplacian.rayleigh_quotients(outcome.vectors)
    assert laplacian.residuals(outcome.vectors, values).max() <= 2e-12


def test_more_copies_than_columns():
    """The value 2/9 nine times, 4/9 thirty-six times: the block of 13 is full of copies of one."""
    laplacian = normalised(hypercube(9))
    search = search_of(laplacian, 5, 1e-10)
    first = chebyshev(laplacian, search).vectors
    np.testing.assert_allclose(laplacian.rayleigh_quotients(first), 2 / 9, rtol=1e-12)
    outcome = chebyshev(laplacian, search_of(laplacian, 30, 1e-10))
    expected = np.repeat([2 / 9, 4 / 9], [9, 21])
    np.testing.assert_allclose(laplacian.rayleigh_quotients(outcome.vectors), expected, rtol=1e-12)


def test_block_of_all_that_is_left():
    laplacian = normalised(random_graph(40, 8))
    n = len(laplacian.scale)
    outcome = chebyshev(laplacian, search_of(laplacian, n - 1, 1e-10))
    assert outcome.vectors.shape == (n, n - 1)
    np.testing.assert_allclose(
        np.sort(laplacian.rayleigh_quotients(outcome.vectors)),
        np.linalg.eigvalsh(laplacian.matrix.toarray())[1:],
        atol=1e-12,
    )


def test_a_hint_changes_the_effort_only():
    laplacian = normalised(random_graph(600, 8))
    expected = chebyshev(laplacian, search_of(laplacian, 3, 1e-10)).vectors
    values = laplacian.rayleigh_quotients(expected)
    for near in (values[-1], 0.5 * values[-1], 1e-3 * values[-1], 1.9):
        outcome = chebyshev(laplacian, search_of(laplacian, 3, 1e-10, near=near))
        np.testing.assert_allclose(
            laplacian.rayleigh_quotients(outcome.vectors), values, atol=1e-12
        )


def test_gives_up(monkeypatch):
    monkeypatch.setattr(module, "_MOST_STEPS", 2)
    laplacian = normalised(grid(30, 30))
    outcome = chebyshev(laplacian, search_of(laplacian, 5, 1e-10))
    assert not outcome.converged
    assert outcome.effort == "2 filter steps"
