"""Operators that turn the smallest eigenvalues of a Laplacian into the largest, for iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sp

# ln of the filter's gain at the smallest wanted eigenvalue over that beyond the cut. More would leave
# fewer orthogonalisations to do; less keeps more of the 16 digits.
_WANTED_GAIN = 7.0
_SMALLEST_GROWTH = 7e-3  # per degree; keeps the degree below 1000
# The cut lies so much beyond the estimate: wanted values equal to the estimate are amplified too, and
# the gain at the eigenvalue 0 is at most e^31, so that what rounding (e^-36) leaves of the vectors
# found before, which are projected out after the filter only, does not outgrow the rest.
_MARGIN = 1.05


class SpectralOperator(Protocol):
    """A function of the Laplacian that decreases along its spectrum where it matters."""

    needs_tuning: bool

    def tune(self, basis: np.ndarray) -> None:
        """Adapts to an orthonormal basis ``[n, p]`` near the wanted eigenvectors and a few more."""

    def __call__(self, block: np.ndarray) -> np.ndarray:
        """Applies the operator to the columns of ``[n, p]``."""


class PseudoInverse:
    """L⁺ or L_sym⁺ of a connected graph, but for the null vector, by solving with L.

    Args:
        solver: Gives a solution X of L X = B, L = D − A, columns of B ⟂ 1.
        scale: ``[n]``, 1 for L and √d for L_sym = D^{-1/2} L D^{-1/2}.
    """

    needs_tuning = False

    def __init__(self, solver: Callable[[np.ndarray], np.ndarray], scale: np.ndarray) -> None:
        self._solver = solver
        self._scale = scale[:, None]

    def tune(self, basis: np.ndarray) -> None:
        pass

    def __call__(self, block: np.ndarray) -> np.ndarray:
        return self._scale * self._solver(self._scale * block)


class LowPassFilter:
    """A Chebyshev polynomial of the Laplacian: products with the matrix only, so no fill.

    T_d maps [cut, bound] to [−1, 1] and grows steadily below the cut.

    Args:
        laplacian: Symmetric, positive semi-definite.
        bound: At least its largest eigenvalue.
    """

    needs_tuning = True

    def __init__(self, laplacian: sp.csr_array, bound: float) -> None:
        self._laplacian = laplacian
        self._bound = bound
        self._set(0.0, bound / 2)

    def tune(self, basis: np.ndarray) -> None:
        # the Ritz values are upper bounds of as many eigenvalues
        ritz_values = np.linalg.eigvalsh(basis.T @ (self._laplacian @ basis))
        self._set(ritz_values[0], _MARGIN * ritz_values[-1])

    def _set(self, smallest: float, cut: float) -> None:
        cut = min(cut, 0.9 * self._bound)
        centre, half_width = (self._bound + cut) / 2, (self._bound - cut) / 2
        growth = math.acosh((centre - min(smallest, cut)) / half_width)  # of ln T_d with the degree
        self._degree = max(1, int(_WANTED_GAIN / max(growth, _SMALLEST_GROWTH)))
        centres = sp.diags_array(np.full(self._laplacian.shape[0], centre), format="csr")
        self._doubled = (2.0 / half_width) * (centres - self._laplacian)

    def __call__(self, block: np.ndarray) -> np.ndarray:
        # T_{j+1}(x) = 2 x T_j(x) − T_{j−1}(x) at x = (centre − L) / half_width
        previous, current = block, (self._doubled @ block) / 2
        for _ in range(self._degree - 1):
            following = self._doubled @ current
            following -= previous
            previous, current = current, following
        return current
