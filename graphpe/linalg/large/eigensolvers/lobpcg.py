"""Locally optimal block preconditioned conjugate gradients, through SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse.linalg

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import Outcome, Search

_GUARDS = 8  # columns beyond the wanted ones
_STEPS = 20  # between two looks at the residuals of the wanted columns alone
_STAGES = 10
_PRECONDITIONER_DEGREE = 12
_PRECONDITIONER_RANGE = 200.0  # of the eigenvalues that it evens out


def lobpcg(
    laplacian: ConnectedLaplacian,
    search: Search,
    preconditioner: Callable[[np.ndarray], np.ndarray],
) -> Outcome:
    """Minimises the Rayleigh quotients of a block along preconditioned gradients.

    Args:
        laplacian: L.
        search: What is wanted; the known vectors are its constraints.
        preconditioner: Symmetric, about the inverse of L, applied to the columns of ``[n, p]``.

    References:
        Knyazev, "Toward the optimal preconditioned eigensolver", SIAM Journal on Scientific Computing
        23 (2001).
    """
    n, known = search.known.shape
    width = min(search.wanted + _GUARDS, n - known)
    block = search.generator.standard_normal((n, width))
    for stage in range(1, _STAGES + 1):
        effort = f"{stage * _STEPS} steps"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about columns that have not converged: see below
                values, block = scipy.sparse.linalg.lobpcg(
                    laplacian.matrix,
                    block,
                    M=preconditioner,
                    Y=search.known,
                    tol=search.tolerance * laplacian.unit,
                    maxiter=_STEPS,
                    largest=False,
                )
        except (np.linalg.LinAlgError, ValueError):  # a block that has lost its rank
            return Outcome(np.empty((n, 0)), False, effort)
        wanted = slice(0, search.wanted)
        residuals = laplacian.residuals(block[:, wanted], values[wanted])
        if (residuals <= search.tolerance).all():
            return Outcome(block[:, wanted], True, effort)
    return Outcome(block[:, wanted][:, residuals <= search.tolerance], False, effort)


def polynomial_preconditioner(laplacian: ConnectedLaplacian) -> Callable[[np.ndarray], np.ndarray]:
    """A polynomial of L close to 1/λ on the upper part of the spectrum: no fill, symmetric.

    Chebyshev's semi-iteration for L x = b on [bound / 200, bound] from x = 0, 12 steps.
    """
    low, high = laplacian.bound / _PRECONDITIONER_RANGE, laplacian.bound
    centre, half_width = (high + low) / 2, (high - low) / 2
    ratio = centre / half_width

    def solve(right: np.ndarray) -> np.ndarray:
        factor = 1.0 / ratio
        residual = right
        direction = residual / centre
        solution = direction
        for _ in range(_PRECONDITIONER_DEGREE - 1):
            residual = residual - laplacian.matrix @ direction
            previous, factor = factor, 1.0 / (2.0 * ratio - factor)
            direction = factor * previous * direction + (2.0 * factor / half_width) * residual
            solution = solution + direction
        return solution

    return solve
