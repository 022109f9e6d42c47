"""The smallest eigenpairs of a connected graph by some solver, checked for errors and for gaps."""

from __future__ import annotations

import dataclasses

import numpy as np

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import (
    ConvergenceError,
    Outcome,
    Search,
    Solver,
)

# A value counts as passed over if it is smaller than the last one by this share, and by this share of
# the tolerance: values are right to about the square of the residual.
_RELATIVE_SLACK = 1e-6
_SHARE_OF_TOLERANCE = 1e-2
_CHECK_ACCURACY = 1e-2  # residual of what the check finds, relative to the last value
_AT_ONCE = 4  # vectors looked for where one was passed over
_LOOKS = 20  # beyond one for each wanted vector


def smallest_eigenpairs(
    laplacian: ConnectedLaplacian, search: Search, solver: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """Values ``[wanted]``, ascending, and vectors ``[n, wanted]``, all copies among them.

    Iterative solvers may return true eigenpairs with tiny residuals and yet not the smallest ones:
    copies of repeated eigenvalues are passed over. So the solver is run again from other random
    vectors, orthogonal to all that was found, for the smallest value left. While that is below the
    last wanted one, what was passed over is added.

    Raises:
        ConvergenceError: If the solver does not converge, or its result does not stand the check.
    """
    found = _converged(solver(laplacian, search), search)
    for _ in range(_LOOKS + search.wanted):
        values, found = _sorted(laplacian, found)
        last = values[search.wanted - 1]
        known = np.hstack([search.known, found])
        if known.shape[1] >= len(known):
            break  # nothing is left
        looser = max(search.tolerance, _CHECK_ACCURACY * last / laplacian.unit)
        look = dataclasses.replace(search, wanted=1, known=known, tolerance=looser, near=last)
        smallest_left = laplacian.rayleigh_quotients(
            _converged(solver(laplacian, look), look)[:, :1]
        )[0]
        slack = _RELATIVE_SLACK * last + _SHARE_OF_TOLERANCE * search.tolerance * laplacian.unit
        if smallest_left >= last - slack:
            break
        more = min(_AT_ONCE, len(known) - known.shape[1])
        look = dataclasses.replace(look, wanted=more, tolerance=search.tolerance)
        found = np.hstack([found, _converged(solver(laplacian, look), look)])
    else:
        raise ConvergenceError("eigenvalues were passed over again and again")
    values, found = values[: search.wanted], found[:, : search.wanted]
    residual = float(laplacian.residuals(found, values).max())
    if not residual <= search.tolerance:
        raise ConvergenceError(
            f"the relative residual {residual:.1e} is over the tolerance {search.tolerance:.0e}"
        )
    return values, found


def _sorted(laplacian: ConnectedLaplacian, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = laplacian.rayleigh_quotients(vectors)
    ascending = np.argsort(values, kind="stable")
    return values[ascending], vectors[:, ascending]


def _converged(outcome: Outcome, search: Search) -> np.ndarray:
    if not outcome.converged:
        count = min(outcome.vectors.shape[1], search.wanted)
        raise ConvergenceError(
            f"{count} of {search.wanted} eigenvectors converged to a relative residual of "
            f"{search.tolerance:.0e} in {outcome.effort}"
        )
    return outcome.vectors
