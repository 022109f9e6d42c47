"""Thick-restarted block Krylov spaces with locking, for the largest eigenvalues of a symmetric operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphpe.linalg.large.eigensolvers.search import Outcome, Search

_BLOCK = 4  # columns the operator is applied to at a time
_BUFFER = 60  # basis vectors beyond the wanted ones
_MOST_AT_ONCE = 64  # wanted vectors that are looked for together; more come in turns
_STEPS = 200  # per turn
_TURNS = 30  # beyond one for each wanted vector


@dataclass(frozen=True)
class _Approximation:
    """Ritz values, descending, their vectors ``[n, m]``, how many lead as converged, effort."""

    values: np.ndarray
    vectors: np.ndarray
    converged: int
    steps: int


def working_columns(wanted: int) -> int:
    """Number of float64 columns of length n that :func:`dominant_vectors` holds at once."""
    return wanted + 2 * (min(wanted, _MOST_AT_ONCE) + _BUFFER) + 6 * _BLOCK


def dominant_vectors(
    operator: Callable[[np.ndarray], np.ndarray], search: Search, tolerance: float
) -> Outcome:
    """Orthonormal eigenvectors to the largest eigenvalues of a symmetric operator F.

    Krylov spaces of a block of vectors, [X, F X, F² X, ...], kept orthogonal to the vectors already
    found. A block finds up to four copies of a repeated eigenvalue.

    Args:
        operator: F, applied to the columns of ``[n, p]``.
        search: Number of wanted vectors, and those known, which everything is kept orthogonal to.
        tolerance: Largest ‖F v − μ v‖ relative to |μ|.
    """
    locked = search.known
    known = locked.shape[1]
    steps = 0
    block = search.generator.standard_normal((len(locked), _BLOCK))
    for _ in range(_TURNS + search.wanted):
        missing = search.wanted - (locked.shape[1] - known)
        result = _krylov_schur(
            operator, block, locked, min(missing, _MOST_AT_ONCE), _STEPS, tolerance
        )
        steps += result.steps
        locked = np.hstack([locked, result.vectors[:, : result.converged]])
        if result.converged == missing:
            return Outcome(locked[:, known:], True, f"{steps} block steps")
        rest = result.vectors[:, result.converged :]
        if rest.shape[1] >= _BLOCK:
            block = rest @ search.generator.standard_normal((rest.shape[1], _BLOCK))
        else:
            block = search.generator.standard_normal((len(locked), _BLOCK))
    return Outcome(locked[:, known:], False, f"{steps} block steps")


def _krylov_schur(
    operator: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    locked: np.ndarray,
    wanted: int,
    most_steps: int,
    tolerance: float,
) -> _Approximation:
    """Approximates the largest eigenvalues of the operator off the span of ``locked``."""
    block, _ = _orthonormalise(start, locked)
    n, p = block.shape
    room = wanted + _BUFFER
    basis = np.empty((n, room))
    projected = np.zeros((room, room))
    size = 0
    for step in range(1, most_steps + 1):
        # F V = V T + (next block) (coupling), V the basis and T its projection of F
        basis[:, size : size + p] = block
        size += p
        image = operator(block)
        # the operator leaves the null vector in, and amplifies rounding along the others
        image -= locked @ (locked.T @ image)
        coefficients = basis[:, :size].T @ image
        image -= basis[:, :size] @ coefficients
        projected[:size, size - p : size] = coefficients
        projected[size - p : size, :size] = coefficients.T
        block, coupling = _orthonormalise(image, locked, basis[:, :size])

        values, rotation = np.linalg.eigh(projected[:size, :size])
        values, rotation = values[::-1], rotation[:, ::-1]
        residuals = np.linalg.norm(coupling @ rotation[size - p :], axis=0)
        good = residuals <= tolerance * np.abs(values)
        converged = int(np.logical_and.accumulate(good[:wanted]).sum())
        if converged == wanted or step == most_steps:
            break
        if size + p > room:
            kept = wanted + _BUFFER // 2
            basis[:, :kept] = basis[:, :size] @ rotation[:, :kept]
            size = kept
            projected[:] = 0.0
            np.fill_diagonal(projected[:size, :size], values[:size])
    kept = min(size, wanted + 2 * p)
    return _Approximation(
        values[:kept],
        basis[:, :size] @ rotation[:, :kept],
        converged,
        step,
    )


def _orthonormalise(block: np.ndarray, *bases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q, R with Q R = block less its part in the spans of ``bases``; Q orthonormal, off the spans.

    A second pass removes what rounding leaves; it also makes good columns that were all rounding.
    """
    coupling = np.eye(block.shape[1])
    for _ in range(2):
        for basis in bases:
            block = block - basis @ (basis.T @ block)
        block, triangle = np.linalg.qr(block)
        coupling = triangle @ coupling
    return block, coupling
