"""Subspace iteration with a Chebyshev filter: products of the sparse matrix with blocks of vectors."""

from __future__ import annotations

import math
import warnings

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import Outcome, Search

_LEAST_GUARDS = 8  # columns beyond the wanted ones, at least
_FIRST_CUT = 0.2  # of the bound of the spectrum; the Ritz values tell better after one step
_FIRST_DEGREE = 20
_MOST_DEGREE = 400
_MOST_STEPS = 100
_COARSEST_FLOAT64 = 1e-5  # residuals below are refined in float64
# The cut lies at least so much beyond the wanted values, so that copies of one value that fill the
# whole block are amplified too.
_MARGIN = 1.05
# ln of what the filter may amplify the eigenvalue 0 more than the last wanted one: rounding along the
# vectors found before, which are projected out only after it, must not outgrow the rest.
_MOST_EXCESS = {torch.float32: 9.0, torch.float64: 22.0}
_MOST_GAIN = 30.0  # ln of the gain at 0
_SMALLEST_PIVOT = 1e-6  # of a Cholesky factor of unit columns; below, rounding has eaten too much


def guards(wanted: int) -> int:
    """Number of columns that are iterated beyond the wanted ones."""
    return max(_LEAST_GUARDS, wanted // 2)


def chebyshev(laplacian: ConnectedLaplacian, search: Search) -> Outcome:
    """Filtered subspace iteration: float32 filter, float64 Rayleigh-Ritz step, locking.

    One step filters a block of vectors by a Chebyshev polynomial of L that is large on the wanted end
    of the spectrum and at most 1 on the rest, makes them orthonormal, rotates them to the
    eigenvectors of L within their span, and locks the leading ones whose residuals are small enough.
    The remaining Ritz values set the next polynomial. Residuals below 1e-5 take a float64 filter.

    References:
        Zhou, Saad, Tiago and Chelikowsky, "Self-consistent-field calculations using
        Chebyshev-filtered subspace iteration", Journal of Computational Physics 219 (2006).
    """
    device = search.device
    n, known = search.known.shape
    locked = torch.from_numpy(search.known).to(device)
    width = min(search.wanted + guards(search.wanted), n - known)
    block = torch.from_numpy(search.generator.standard_normal((n, width))).to(device)
    matrix = _on_device(laplacian.matrix, torch.float64, device)
    dtype = torch.float32
    cut, degree = _FIRST_CUT * laplacian.bound, _FIRST_DEGREE
    if search.near is not None:
        cut = min(_MARGIN * search.near, cut)
        degree = _degree(laplacian.bound, cut, search.near, math.inf, dtype)
    missing, worst = search.wanted, math.inf

    for step in range(1, _MOST_STEPS + 1):
        block = _filter(laplacian, cut, degree, block.to(dtype)).to(torch.float64)
        values, block, residuals = _rayleigh_ritz(matrix, block, locked)
        residuals = residuals / laplacian.unit
        is_good = residuals[:missing] <= search.tolerance
        good = int(is_good.int().cumprod(0).sum())
        locked = torch.cat([locked, block[:, :good]], dim=1)
        missing -= good
        if missing == 0:
            return _outcome(locked, known, True, step)
        values, block, residuals = values[good:], block[:, good:], residuals[good:]

        last_wanted = float(values[missing - 1])
        cut = min(max(float(values[-1]), _MARGIN * last_wanted), 0.9 * laplacian.bound)
        previous, worst = worst, float(residuals[:missing].max())
        if search.tolerance < _COARSEST_FLOAT64 and (
            worst < _COARSEST_FLOAT64 or worst > previous / 2
        ):
            dtype = torch.float64
        degree = _degree(laplacian.bound, cut, last_wanted, worst / search.tolerance, dtype)
    return _outcome(locked, known, False, _MOST_STEPS)


def _outcome(locked: Tensor, known: int, converged: bool, steps: int) -> Outcome:
    return Outcome(locked[:, known:].cpu().numpy(), converged, f"{steps} filter steps")


def _degree(bound: float, cut: float, last_wanted: float, needed: float, dtype: torch.dtype) -> int:
    """Degree of the filter: what is needed to lower the residuals so much, within limits."""
    centre, half_width = _interval(bound, cut)

    def growth(value: float) -> float:
        """Of ln T_d(value) with the degree d."""
        return math.acosh(max(1.0, (centre - value) / half_width))

    at_zero, at_last = growth(0.0), growth(last_wanted)
    limits = [
        _MOST_EXCESS[dtype] / max(at_zero - at_last, 1e-9),
        _MOST_GAIN / at_zero,
        _MOST_DEGREE,
        math.log(3.0 * needed) / max(at_last, 1e-9),
    ]
    return max(2, int(min(limits)))


def _filter(laplacian: ConnectedLaplacian, cut: float, degree: int, block: Tensor) -> Tensor:
    """T_d((centre − L) / half-width) of the block; maps [cut, bound] to [−1, 1]."""
    centre, half_width = _interval(laplacian.bound, cut)
    centres = sp.diags_array(np.full(len(laplacian.scale), centre), format="csr")
    doubled = _on_device(
        (2.0 / half_width) * (centres - laplacian.matrix), block.dtype, block.device
    )
    # T_{j+1}(x) = 2 x T_j(x) − T_{j−1}(x)
    previous, current = block, (doubled @ block) / 2
    for _ in range(degree - 1):
        previous, current = current, torch.addmm(previous, doubled, current, beta=-1)
    return current


def _interval(bound: float, cut: float) -> tuple[float, float]:
    """Centre and half-width."""
    return (bound + cut) / 2, (bound - cut) / 2


def _rayleigh_ritz(matrix: Tensor, block: Tensor, locked: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ritz values, ascending, unit Ritz vectors ``[n, p]`` and ‖L v − λ v‖ on the block's span."""
    basis = orthonormalised(block, locked)
    image = matrix @ basis
    projected = basis.T @ image
    values, rotation = torch.linalg.eigh((projected + projected.T) / 2)
    vectors = basis @ rotation
    residuals = (image @ rotation - vectors * values).norm(dim=0)
    return values, vectors, residuals


def orthonormalised(block: Tensor, locked: Tensor) -> Tensor:
    """An orthonormal basis of the columns' span off the span of ``locked``, by Cholesky-QR.

    Twice, because the first pass leaves rounding in proportion to the square of the condition
    number. Where the columns are dependent or nearly so, Householder reflections take over: they
    are orthonormal whatever the rank, and what they put in the place of missing directions is
    projected off ``locked`` by the second pass.
    """
    for _ in range(2):
        block = block - locked @ (locked.T @ block)
        norms = block.norm(dim=0)
        block = block / torch.where(norms > 0, norms, 1.0)
        factor, failed = torch.linalg.cholesky_ex(block.T @ block, upper=True)
        if bool(failed) or float(factor.diagonal().min()) < _SMALLEST_PIVOT:
            block = torch.linalg.qr(block)[0]
        else:
            block = torch.linalg.solve_triangular(factor, block, upper=True, left=False)
    return block


def _on_device(matrix: sp.csr_array, dtype: torch.dtype, device: torch.device) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr),
            torch.from_numpy(matrix.indices),
            torch.from_numpy(matrix.data).to(dtype),
            size=matrix.shape,
            check_invariants=False,  # SciPy has
        ).to(device)
