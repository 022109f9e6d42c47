"""The iteration behind the sparse eigensolver: thick-restarted block Krylov spaces with locking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphpe.linalg.large.spectral_operators import SpectralOperator

_BLOCK = 4  # columns the operator is applied to at a time
_BUFFER = 60  # basis vectors beyond the wanted ones
_MOST_AT_ONCE = 64  # wanted vectors that are looked for together; more come in turns
_STEPS_BEFORE_TUNING = 8
_STEPS = 200  # per turn; afterwards the operator is tuned again
_TURNS = 30  # beyond one for each wanted vector
_TOLERANCE = 1e-10
_CHECK_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Outcome:
    """Vectors ``[n, found]``, whether all wanted were found, blocks spent, last relative residual."""

    vectors: np.ndarray
    converged: bool
    steps: int
    residual: float


@dataclass(frozen=True)
class _Approximation:
    """Ritz values, descending, their vectors ``[n, m]``, how many lead as converged, effort."""

    values: np.ndarray
    vectors: np.ndarray
    converged: int
    steps: int
    residual: float


def working_columns(wanted: int) -> int:
    """Number of float64 columns of length n that :func:`dominant_vectors` holds at once."""
    return wanted + 2 * (min(wanted, _MOST_AT_ONCE) + _BUFFER) + 6 * _BLOCK


def dominant_vectors(
    operator: SpectralOperator,
    rayleigh_quotients: Callable[[np.ndarray], np.ndarray],
    null_vector: np.ndarray,
    wanted: int,
    generator: np.random.Generator,
) -> Outcome:
    """Orthonormal eigenvectors to the ``wanted`` largest eigenvalues of a symmetric operator F.

    Krylov spaces of a block of vectors, [X, F X, F² X, ...], kept orthogonal to the vectors already
    found. A block finds up to four copies of a repeated eigenvalue; more copies, and anything else
    that was passed over, are found at the end, where new random vectors, orthogonal to all found,
    look for a value beyond the last one.

    Args:
        operator: F, commuting with the Laplacian and decreasing along its spectrum.
        rayleigh_quotients: Gives those of the Laplacian, ``[p]``, of the columns of ``[n, p]``.
        null_vector: ``[n]``, unit length; everything is kept orthogonal to it.
        wanted: At least 1.
        generator: Draws the start vectors.
    """
    locked = null_vector[:, None]
    found: list[float] = []  # Laplacian values of the columns of `locked` after the first
    steps = 0

    def search(start: np.ndarray, wanted: int, most_steps: int, tolerance: float) -> _Approximation:
        nonlocal steps
        result = _krylov_schur(operator, start, locked, wanted, most_steps, tolerance)
        steps += result.steps
        return result

    def random_block() -> np.ndarray:
        return generator.standard_normal((len(null_vector), _BLOCK))

    def mixed(vectors: np.ndarray) -> np.ndarray:
        return vectors @ generator.standard_normal((vectors.shape[1], _BLOCK))

    block = random_block()
    for _ in range(_TURNS + wanted):
        missing = min(wanted - len(found), _MOST_AT_ONCE)
        if missing > 0:
            if operator.needs_tuning:
                steps_to_fill = -(-(missing + _BUFFER) // _BLOCK)
                result = search(block, missing, steps_to_fill, _TOLERANCE)
                operator.tune(result.vectors[:, : missing + _BLOCK])
                block = mixed(result.vectors)
            result = search(block, missing, _STEPS, _TOLERANCE)
        else:
            result = search(random_block(), 1, _STEPS, _CHECK_TOLERANCE)
            last = np.sort(found)[wanted - 1]
            if rayleigh_quotients(result.vectors[:, :1])[0] >= last * (1 - 1e-6):
                if result.converged:
                    return Outcome(locked[:, 1:], True, steps, result.residual)
                continue
            # something was passed over: find it, and maybe more like it, exactly
            result = search(result.vectors[:, :_BLOCK], _BLOCK, _STEPS, _TOLERANCE)
        new = result.vectors[:, : result.converged]
        locked = np.hstack([locked, new])
        found += list(rayleigh_quotients(new))
        rest = result.vectors[:, result.converged :]
        block = mixed(rest) if rest.shape[1] >= _BLOCK else random_block()
    return Outcome(locked[:, 1:], False, steps, result.residual)


def _krylov_schur(
    operator: SpectralOperator,
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
        float(residuals[min(converged, kept - 1)] / abs(values[min(converged, kept - 1)])),
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
