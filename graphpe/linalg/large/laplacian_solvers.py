"""Solving L x = b with the Laplacian L = D − A of one connected sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

# A factorisation is chosen when it takes fewer operations than this per entry of the matrix.
_FACTOR_OPERATIONS_PER_ENTRY = 5e4
_FACTOR_BYTES_PER_ENTRY = 2 * 12  # two triangles, float64 values and int32 positions
_GRADIENTS_TOLERANCE = 1e-12
_GRADIENTS_MAX_STEPS = 5000


class GroundedFactor:
    """A sparse factorisation: exact and fast for path-like and grid-like graphs.

    With one node grounded (its row and column struck out) L is positive definite.

    Args:
        adjacency: ``[n, n]``, symmetric, connected, without self-loops.
    """

    def __init__(self, adjacency: sp.csr_array) -> None:
        degrees = adjacency.sum(1)
        self._kept = np.delete(np.arange(len(degrees)), degrees.argmax())
        grounded = (sp.diags_array(degrees) - adjacency).tocsr()[self._kept][:, self._kept]
        self._factor = splu(
            grounded.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,  # diagonally dominant: no pivoting, so the fill stays low
            options={"SymmetricMode": True},
        )

    def __call__(self, right: np.ndarray) -> np.ndarray:
        solution = np.zeros_like(right)
        solution[self._kept] = self._factor.solve(right[self._kept])
        return solution


class ConjugateGradients:
    """Conjugate gradients preconditioned by the degrees: no fill, fast for expander-like graphs.

    The preconditioned matrix is L_sym, whose spectrum lies in [0, 2] whatever the degrees.

    Args:
        adjacency: ``[n, n]``, symmetric, connected, without self-loops.
    """

    def __init__(self, adjacency: sp.csr_array) -> None:
        inverse_root = 1.0 / np.sqrt(adjacency.sum(1))
        scaling = sp.diags_array(inverse_root)
        self._scaled_adjacency = (scaling @ adjacency @ scaling).tocsr()
        self._inverse_root = inverse_root[:, None]

    def __call__(self, right: np.ndarray) -> np.ndarray:
        residual = self._inverse_root * right
        solution = np.zeros_like(residual)
        direction = residual.copy()
        squared = _column_products(residual, residual)
        enough = _GRADIENTS_TOLERANCE**2 * squared
        for _ in range(_GRADIENTS_MAX_STEPS):
            if (squared <= enough).all():
                break
            image = direction - self._scaled_adjacency @ direction
            step = _ratio(squared, _column_products(direction, image))
            solution += step * direction
            residual -= step * image
            previous, squared = squared, _column_products(residual, residual)
            direction *= _ratio(squared, previous)
            direction += residual
        return self._inverse_root * solution


def is_cheap_to_factor(adjacency: sp.csr_array, memory: float) -> bool:
    """Whether eliminating a connected graph node by node stays within ``memory`` bytes and is fast.

    Two upper bounds of the fill are tried: the envelope after the reverse Cuthill-McKee ordering,
    small for long and for grid-like graphs, and the number of independent cycles r: what remains
    of a graph after nodes of degree 1 and 2 have gone has fewer than 2r nodes.
    """
    nodes, entries = adjacency.shape[0], adjacency.nnz
    order = csgraph.reverse_cuthill_mckee(sp.csr_matrix(adjacency), symmetric_mode=True)
    position = np.empty(nodes, dtype=np.int64)
    position[order] = np.arange(nodes)
    # how far before a node its first neighbour is eliminated; no row is empty, as it is connected
    first_neighbour = np.minimum.reduceat(position[adjacency.indices], adjacency.indptr[:-1])
    width = np.maximum(position - first_neighbour, 0).astype(np.float64)
    core = 2.0 * (entries // 2 - nodes + 1)

    def fits(fill: float, operations: float) -> bool:
        return (
            operations <= _FACTOR_OPERATIONS_PER_ENTRY * entries
            and fill * _FACTOR_BYTES_PER_ENTRY <= memory
        )

    envelope = float(width.sum()), float((width**2).sum())
    return fits(*envelope) or fits(2 * nodes + core**2 / 2, core**3 / 3)


def _column_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", left, right)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is 0: a column that is solved stays as it is."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
