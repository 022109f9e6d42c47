"""Return probabilities of random walks on one large sparse graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch

from graphpe.linalg.large.components import Components, SparseMatrix
from graphpe.linalg.walks.return_probabilities import diagonals_of_powers

_DENSE_LIMIT = 256  # components with at most so many nodes are dense
_STACK_ENTRIES = 2**15  # of a dense stack of them: 256 KiB, which stays in the cache
_WIDTH = 64  # nodes whose walks are followed at a time
_SPARSE_WIDTH = 512  # the same if the walks never spread
_COLUMNS_IN_USE = 5  # blocks of that width held at once
_SPARSE_DENSITY = 0.03  # a block with more nonzero entries is faster dense


def sparse_return_probabilities(
    adjacency: SparseMatrix,
    steps: int,
    *,
    memory_budget: int = 64 * 2**20,
    progress: Callable[[int], object] = lambda nodes_done: None,
) -> np.ndarray:
    """Probability that a walk is back at its start after 1, ..., ``steps`` steps: diag(P^k).

    P = D^{-1} A is never raised to a power as a whole. For a block of nodes c, the rows e_c P^a and
    the columns P^a e_c are followed, sparse as long as the walks have not spread, and
    diag(P^{a+b})_c = (e_c P^a)(P^b e_c), so that K/2 steps of each are enough. For a symmetric A
    they are the same up to scaling: S = D^{-1/2} A D^{-1/2} takes the place of P. Walks that return
    do not leave their (strongly) connected component, so each component is done on its own.

    Args:
        adjacency: ``[n, n]``, finite, non-negative; may be directed; self-loops are kept.
        steps: Number of steps K ≥ 0.
        memory_budget: Bytes for the blocks; the result does not depend on it.
        progress: Called with the number of nodes each time that some are done.

    Returns:
        ``[n, K]`` float64; a node without outgoing edges has 0.

    Raises:
        ValueError: If ``steps`` or a weight is negative, or a weight is not finite.
    """
    walks, is_symmetric = walk_matrix(adjacency, steps)
    components = Components(walks, "strong")
    result = np.zeros((len(components.nodes), steps))
    if result.size == 0:
        return result

    for place, matrix in components.larger_than(_DENSE_LIMIT):
        nodes = components.nodes[place]
        backward = matrix if is_symmetric else matrix.T.tocsr()
        halves = (steps + 1) // 2
        sparse_steps = _steps_before_spread(matrix, backward, halves)
        affordable = max(4, memory_budget // (8 * len(nodes) * _COLUMNS_IN_USE))
        width = _SPARSE_WIDTH if sparse_steps == halves else min(_WIDTH, affordable)
        for block in np.array_split(np.arange(len(nodes)), -(-len(nodes) // width)):
            result[nodes[block]] = _returns(matrix, backward, block, steps, sparse_steps)
            progress(len(block))
    fill_small_components(components, result, progress)
    return np.clip(result, 0.0, 1.0, out=result)  # rounding may leave [0, 1]


def walk_matrix(adjacency: SparseMatrix, steps: int) -> tuple[sp.csr_array, bool]:
    """D^{-1/2} A D^{-1/2} for a symmetric A, else D^{-1} A, and whether A is symmetric.

    The diagonals of the powers of both are the same. Checks the arguments of the walks, too.
    """
    if steps < 0:
        raise ValueError(f"steps is {steps}; it must be at least 0")
    adjacency = sp.csr_array(adjacency, dtype=np.float64)
    if not np.isfinite(adjacency.data).all() or (adjacency.data < 0).any():
        raise ValueError("edge weights must be finite and non-negative")
    is_symmetric = (adjacency != adjacency.T).nnz == 0
    degrees = adjacency.sum(1)
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    edges = adjacency.tocoo()
    if is_symmetric:
        root = np.sqrt(inverse)
        scale = root[edges.row] * root[edges.col]
    else:
        scale = inverse[edges.row]
    walks = sp.csr_array((edges.data * scale, (edges.row, edges.col)), shape=adjacency.shape)
    return walks, is_symmetric


def nodes_in_large_components(components: Components) -> int:
    """Number of nodes, the first of ``components.nodes``, that :func:`fill_small_components` leaves."""
    return int(components.sizes[components.sizes > _DENSE_LIMIT].sum())


def fill_small_components(
    components: Components, result: np.ndarray, progress: Callable[[int], object]
) -> None:
    """Writes the rows ``[n, K]`` of the nodes of small components, by dense matrices."""
    for place, stack in components.stacks(_DENSE_LIMIT, _STACK_ENTRIES):
        diagonals = diagonals_of_powers(torch.from_numpy(stack), result.shape[1])
        result[components.nodes[place]] = diagonals.flatten(1).T.numpy()
        progress(place.stop - place.start)


def _returns(
    forward: sp.csr_array,
    backward: sp.csr_array,
    nodes: np.ndarray,
    steps: int,
    sparse_steps: int,
) -> np.ndarray:
    """``[len(nodes), steps]`` return probabilities of some nodes; ``backward`` = ``forward``ᵀ."""
    result = np.empty((len(nodes), steps))
    ahead = behind = _unit_rows(nodes, forward.shape[0])
    for half in range((steps + 1) // 2):
        if half == sparse_steps:
            is_same = ahead is behind
            ahead = _as_columns(ahead)
            behind = ahead if is_same else _as_columns(behind)
        further = _step(ahead, forward, backward)
        result[:, 2 * half] = _products(further, behind)
        if 2 * half + 1 < steps:
            behind = further if forward is backward else _step(behind, backward, forward)
            result[:, 2 * half + 1] = _products(further, behind)
        ahead = further
    return result


_Block = sp.csr_array | np.ndarray  # sparse rows [w, n], or their dense transpose [n, w]


def _step(block: _Block, matrix: sp.csr_array, transposed: sp.csr_array) -> _Block:
    """The rows of the block times ``matrix``."""
    return block @ matrix if sp.issparse(block) else transposed @ block


def _products(left: _Block, right: _Block) -> np.ndarray:
    """Inner products of the rows, each added up in the same order whatever the width of a block."""
    if sp.issparse(left):
        return left.multiply(right).sum(1)
    return np.einsum("ij,ij->j", left, right)


def _steps_before_spread(forward: sp.csr_array, backward: sp.csr_array, most: int) -> int:
    """Steps after which the walks from typical nodes have spread over much of the graph."""
    n = forward.shape[0]
    nodes = np.linspace(0, n - 1, min(n, _WIDTH)).astype(np.int64)
    ahead = behind = _unit_rows(nodes, n)
    for step in range(most):
        if max(ahead.nnz, behind.nnz) > _SPARSE_DENSITY * len(nodes) * n:
            return step
        ahead = ahead @ forward
        behind = ahead if forward is backward else behind @ backward
    return most


def _unit_rows(nodes: np.ndarray, n: int) -> sp.csr_array:
    return sp.csr_array((np.ones(len(nodes)), nodes, np.arange(len(nodes) + 1)), (len(nodes), n))


def _as_columns(block: sp.csr_array) -> np.ndarray:
    return np.ascontiguousarray(block.toarray().T)
