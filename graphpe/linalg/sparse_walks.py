"""Return probabilities of random walks on one large sparse graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse

# Columns of length n that a block holds at once: two powers, and their product.
_COLUMNS_IN_USE = 3


def sparse_return_probabilities(
    adjacency: scipy.sparse.csr_array,
    steps: int,
    *,
    memory_budget: int = 64 * 2**20,
    progress: Callable[[int], object] = lambda columns_done: None,
) -> np.ndarray:
    """Probability that a walk is back at its start after 1, ..., ``steps`` steps: diag(P^k), P = D^{-1} A.

    Goes through the identity by blocks of columns E and never forms a power of P. For a symmetric A, with
    S = D^{-1/2} A D^{-1/2} and X_a = S^a E, only half the powers are needed, since diag(S^{2a}) is the squared norm of
    the columns of X_a, and diag(S^{2a+1}) their product with those of X_{a+1}.

    Args:
        adjacency: ``[n, n]`` float64, non-negative; may be directed and have self-loops, which are kept.
        steps: Number of steps K ≥ 1.
        memory_budget: Bytes for the dense blocks.
        progress: Called with the number of columns each time that some are done.

    Returns:
        ``[n, K]`` float64; a node without outgoing edges has 0. Does not depend on the memory budget.
    """
    n = adjacency.shape[0]
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros(n), where=degree > 0)
    if (adjacency != adjacency.T).nnz == 0:
        scale = scipy.sparse.diags_array(np.sqrt(inverse))
        matrix, diagonals = (scale @ adjacency @ scale).tocsr(), _symmetric_diagonals
    else:
        # (P^k)_cc is entry c of P^k e_c.
        matrix, diagonals = (scipy.sparse.diags_array(inverse) @ adjacency).tocsr(), _diagonals
    result = np.zeros((n, steps))
    width = max(1, memory_budget // (8 * n * _COLUMNS_IN_USE))
    for start in range(0, n, width):
        columns = np.arange(start, min(start + width, n))
        block = np.zeros((n, len(columns)))
        block[columns, columns - start] = 1.0
        result[columns] = diagonals(matrix, block, columns, steps)
        progress(len(columns))
    return np.clip(result, 0.0, 1.0, out=result)  # rounding may leave [0, 1]


def _symmetric_diagonals(
    matrix: scipy.sparse.csr_array, block: np.ndarray, columns: np.ndarray, steps: int
) -> np.ndarray:
    """``[columns, steps]`` diagonals of the powers of a symmetric matrix, two at a time."""
    result = np.empty((len(columns), steps))
    for step in range(1, steps + 1, 2):
        following = matrix @ block
        result[:, step - 1] = _column_products(block, following)
        if step < steps:
            result[:, step] = _column_products(following, following)
        block = following
    return result


def _diagonals(
    matrix: scipy.sparse.csr_array, block: np.ndarray, columns: np.ndarray, steps: int
) -> np.ndarray:
    """``[columns, steps]`` diagonals of the powers of any matrix."""
    result = np.empty((len(columns), steps))
    for step in range(steps):
        block = matrix @ block
        result[:, step] = block[columns, np.arange(len(columns))]
    return result


def _column_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Inner product of each column, added up row by row, so that it does not depend on the width."""
    return np.einsum("ij,ij->j", left, right)
