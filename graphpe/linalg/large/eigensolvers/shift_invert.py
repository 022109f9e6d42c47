"""Shift-invert: Krylov spaces of the pseudo-inverse, for graphs whose smallest values are crowded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphpe.linalg.large.block_krylov import dominant_vectors
from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.search import Outcome, Search

# The largest eigenvalues of the inverse stand far apart, so that digits beyond the asked cost little.
_TOLERANCE = 1e-10


class PseudoInverse:
    """L⁺ of a connected graph, but for the null vector, by solving with D − A.

    Args:
        solver: Gives a solution X of (D − A) X = B, columns of B ⟂ 1.
        scale: ``[n]``, 1 for L = D − A and √d for L = D^{-1/2} (D − A) D^{-1/2}.
    """

    def __init__(self, solver: Callable[[np.ndarray], np.ndarray], scale: np.ndarray) -> None:
        self._solver = solver
        self._scale = scale[:, None]

    def __call__(self, block: np.ndarray) -> np.ndarray:
        return self._scale * self._solver(self._scale * block)


def shift_invert(
    laplacian: ConnectedLaplacian, search: Search, solver: Callable[[np.ndarray], np.ndarray]
) -> Outcome:
    """Block Krylov iteration with L⁺, whose largest eigenvalues are the inverses of the smallest of L.

    The shift is 0: the null vector is among the known ones, so that L is regular where it counts.
    """
    inverse = PseudoInverse(solver, laplacian.scale)
    return dominant_vectors(inverse, search, min(_TOLERANCE, search.tolerance))
