"""The largest singular values of one large sparse matrix, with their vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from graphpe.linalg.large.block_krylov import dominant_vectors
from graphpe.linalg.large.eigensolvers.search import ConvergenceError, Search

_SMALLEST_ITERATIVE = 300  # rows; below, a Krylov space would hardly be smaller than the whole
_TOLERANCE = 1e-12  # of the eigenvectors of AᵀA, relative to its norm
_ROUNDING = 1e-9  # singular values below this share of the largest are zero
_MOST_RESIDUAL = 1e-7  # ‖Aᵀ u − σ v‖ relative to the largest singular value

_CHECK_TOLERANCE = 1e-4  # of the vectors that only tell how large a value is
_SLACK = 1e-6  # a value counts as missing if it is larger than the last one by this share
_AT_ONCE = 4  # vectors looked for where one was missing
_LOOKS = 20  # beyond one for each wanted vector


def largest_singular_vectors(
    matrix: sp.csr_array, wanted: int, *, seed: int = 0, name: str = "the graph"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest singular values of a matrix, all copies of repeated ones among them.

    Block Krylov iteration with AᵀA from seeded vectors. It is run again, off all that was found, until nothing larger
    than the last value is left, so that no copy of a repeated value is missing.

    Args:
        matrix: A ``[n, n]``, finite.
        wanted: Number of values.
        seed: Seeds the start vectors: the same matrix and seed give the same bytes.
        name: What error messages call the graph.

    Returns:
        U ``[n, m]``, σ ``[m]`` descending, V ``[n, m]``, m = min(wanted, n), with A V = U diag(σ). Values below 1e-9
        of the largest are 0; their columns mean nothing.

    Raises:
        ConvergenceError: If the iteration does not converge; a ValueError.
    """
    n = matrix.shape[0]
    wanted = min(wanted, n)
    if matrix.nnz == 0:
        return np.zeros((n, wanted)), np.zeros(wanted), np.zeros((n, wanted))
    scale = abs(matrix).max()  # keeps squares in range
    matrix = matrix / scale
    if n <= max(_SMALLEST_ITERATIVE, 4 * wanted):
        left, values, right = np.linalg.svd(matrix.toarray())
        left, values, right = left[:, :wanted], values[:wanted], right[:wanted].T
    else:
        left, values, right = _search(matrix, wanted, np.random.default_rng(seed), name)
    values = np.where(values > _ROUNDING * values[0], values, 0.0)
    return left, scale * values, right


def _search(
    matrix: sp.csr_array, wanted: int, generator: np.random.Generator, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    transposed = matrix.T.tocsr()

    def gram(block: np.ndarray) -> np.ndarray:
        return transposed @ (matrix @ block)

    def vectors(
        operator: Callable[[np.ndarray], np.ndarray],
        count: int,
        known: np.ndarray,
        tolerance: float,
    ) -> np.ndarray:
        outcome = dominant_vectors(operator, Search(count, known, tolerance, generator), tolerance)
        if not outcome.converged:
            raise ConvergenceError(
                f"{name}: the largest {count} singular values did not converge in {outcome.effort}; lower k, or raise "
                "dense_limit to decompose the dense matrix"
            )
        return outcome.vectors[:, :count]

    none = np.empty((matrix.shape[0], 0))
    norm = np.linalg.norm(matrix @ vectors(gram, 1, none, _CHECK_TOLERANCE)) ** 2

    def shifted(block: np.ndarray) -> np.ndarray:  # so that zeros converge as well
        return gram(block) + norm * block

    found = vectors(shifted, wanted, none, _TOLERANCE)
    for _ in range(_LOOKS + wanted):
        left, values, right = _decompose(matrix, found)
        rest = matrix.shape[0] - found.shape[1]
        if rest == 0:
            break
        look = vectors(shifted, 1, found, _CHECK_TOLERANCE)
        largest_left = np.linalg.norm(matrix @ look)
        if largest_left <= (1 + _SLACK) * values[wanted - 1] + _ROUNDING * values[0]:
            break
        found = np.hstack([found, vectors(shifted, min(_AT_ONCE, rest), found, _TOLERANCE)])
    else:
        raise ConvergenceError(f"{name}: singular values were passed over again and again; lower k")
    left, values, right = left[:, :wanted], values[:wanted], right[:, :wanted]
    residuals = np.linalg.norm(transposed @ left - right * values, axis=0)
    residual = residuals[values > _ROUNDING * values[0]].max() / values[0]
    if not residual <= _MOST_RESIDUAL:
        raise ConvergenceError(
            f"{name}: the relative residual {residual:.1e} of the singular vectors is over {_MOST_RESIDUAL:.0e}; lower "
            "k, or raise dense_limit to decompose the dense matrix"
        )
    return left, values, right


def _decompose(
    matrix: sp.csr_array, space: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular vectors of the matrix in the span of the orthonormal columns of ``space``."""
    left, values, rotation = np.linalg.svd(matrix @ space, full_matrices=False)
    return left, values, space @ rotation.T
