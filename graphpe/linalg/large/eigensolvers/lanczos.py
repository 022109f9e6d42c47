"""Implicitly restarted Lanczos iteration: ARPACK, through SciPy."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import Outcome, Search

_MOST_RESTARTS = 300
_SMALLEST_SPACE = 40  # of the vectors between restarts; SciPy's 20 are few for one wanted vector


def lanczos(laplacian: ConnectedLaplacian, search: Search) -> Outcome:
    """The largest eigenvalues of c − L, c the bound of the spectrum, with the known vectors sent to 0.

    Products with the matrix only; slow where the smallest eigenvalues lie close together compared to
    the largest one, as for long paths. It starts from one vector, so that copies of repeated
    eigenvalues appear by rounding alone and late: a caller must look for those that are missing.
    """
    n, known = search.known.shape

    def product(vector: np.ndarray) -> np.ndarray:
        image = laplacian.bound * vector - laplacian.matrix @ vector
        return image - search.known @ (search.known.T @ image)

    start = search.generator.standard_normal(n)
    start -= search.known @ (search.known.T @ start)
    space = min(max(2 * search.wanted + 1, _SMALLEST_SPACE), n - known)
    effort = f"{_MOST_RESTARTS} restarts at most"
    try:
        _, vectors = eigsh(
            LinearOperator((n, n), matvec=product, dtype=np.float64),
            search.wanted,
            which="LA",
            v0=start,
            ncv=space,
            maxiter=_MOST_RESTARTS,
            # relative to the eigenvalue of c − L, which is at most twice the unit of the residual
            tol=search.tolerance / 2,
        )
    except ArpackNoConvergence as error:
        return Outcome(error.eigenvectors, False, effort)
    except ArpackError:  # such as no shifts to apply: the start has no part along the missing ones
        return Outcome(np.empty((n, 0)), False, effort)
    return Outcome(_off(vectors, search.known), True, effort)


def _off(vectors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Orthonormal to working precision, and to the known vectors."""
    return np.linalg.qr(vectors - known @ (known.T @ vectors))[0]
