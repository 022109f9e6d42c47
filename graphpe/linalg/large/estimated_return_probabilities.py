"""Return probabilities of random walks on one large graph, estimated with their standard errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphpe.linalg.large.components import Components, SparseMatrix
from graphpe.linalg.large.return_probabilities import (
    fill_small_components,
    nodes_in_large_components,
    walk_matrix,
)

_WIDTH = 16  # samples followed at a time
_COLUMNS_IN_USE = 6  # blocks of that width held at once
_EXACT_STEPS = 2  # steps whose return probabilities are sums over neighbours


def estimate_return_probabilities(
    adjacency: SparseMatrix,
    steps: int,
    *,
    samples: int,
    seed: int = 0,
    memory_budget: int = 64 * 2**20,
    progress: Callable[[int], object] = lambda nodes_done: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Unbiased estimates of the probability that a walk is back at its start after 1, ..., K steps.

    For random signs z, independent and ±1 with equal chance, E[z zᵀ] = I, so that

        E[(P^a z) ⊙ ((Pᵀ)^b z)] = diag(P^{a+b}),

    averaged over ``samples`` draws of z. Each draw costs K products with the matrix, or K/2 for an
    undirected graph, however many nodes the walks reach. With S = D^{-1/2} A D^{-1/2} in the place
    of P for a symmetric A, one draw has the variance (S^{2a})_ii (S^{2b})_ii + (S^{a+b})²_ii at most,
    which by the convexity of a ↦ ln (S^{2a})_ii is least for a = b = k/2: the relative error is then
    at most √(2/samples), where Hutchinson's z ⊙ P^k z (a = 0) and the share of walks that return
    have errors that grow as the probability falls.

    What is known exactly is not estimated: the first two steps; components of at most 256 nodes; odd
    steps in bipartite components; and, in undirected graphs, what is left after infinitely many steps
    (eigenvalues 1 and −1 of S).

    Args:
        adjacency: ``[n, n]``, finite, non-negative; may be directed; self-loops are kept.
        steps: Number of steps K ≥ 0.
        samples: Number of draws, at least 2.
        seed: Seeds them: the same matrix and seed give the same bytes.
        memory_budget: Bytes for the blocks of vectors; the result does not depend on it.
        progress: Called with the number of nodes each time that some are done.

    Returns:
        The estimate and its standard error, each ``[n, K]`` float64. The error is itself estimated
        from the spread of the draws, and 0 where the value is exact. Estimates are not clipped, which
        would bias them: they may be slightly negative or above 1.

    Raises:
        ValueError: If ``steps`` or a weight is negative, a weight is not finite, or ``samples`` < 2.

    References:
        Bekas, Kokiopoulou and Saad, "An estimator for the diagonal of a matrix", Applied Numerical
        Mathematics 57 (2007).
    """
    if samples < 2:
        raise ValueError(f"samples is {samples}; it must be at least 2 for a standard error")
    matrix, is_symmetric = walk_matrix(adjacency, steps)
    components = Components(matrix, "strong")
    n = len(components.nodes)
    estimate, error = np.zeros((n, steps)), np.zeros((n, steps))
    if estimate.size == 0:
        return estimate, error
    large = nodes_in_large_components(components)
    if large > 0:
        nodes = components.nodes[:large]
        degrees = np.asarray(adjacency.sum(1), dtype=np.float64).ravel()[nodes]
        part = components.matrix[:large][:, :large]
        limits = _limits(part, degrees) if is_symmetric else np.empty((0, large))
        width = int(np.clip(memory_budget // (8 * large * _COLUMNS_IN_USE), 1, _WIDTH))
        estimate[nodes], error[nodes] = _estimate(
            part, limits, steps, samples, seed, width, progress
        )
    fill_small_components(components, estimate, progress)
    return estimate, error


def _estimate(
    forward: sp.csr_array,
    limits: np.ndarray,
    steps: int,
    samples: int,
    seed: int,
    width: int,
    progress: Callable[[int], object],
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard errors ``[m, steps]``; ``limits`` are those of a symmetric matrix."""
    m = forward.shape[0]
    is_symmetric = len(limits) > 0
    backward = forward if is_symmetric else forward.T.tocsr()
    total, total_of_squares = np.zeros((steps, m)), np.zeros((steps, m))

    def add(step: int, products: np.ndarray) -> None:
        # one sample after the other, so that the result does not depend on the width of a block
        for product in np.ascontiguousarray(products.T):
            total[step] += product
            product *= product
            total_of_squares[step] += product

    for first in range(0, samples, width):
        last = min(first + width, samples)
        ahead = np.stack([_signs(m, seed, sample) for sample in range(first, last)], axis=1)
        if is_symmetric:
            ahead = _without_limits(ahead, limits, forward)
        behind = ahead
        for step in range(0, steps, 2):
            further = forward @ ahead
            add(step, further * behind)
            if step + 1 < steps:
                behind = further if is_symmetric else backward @ behind
                add(step + 1, further * behind)
            ahead = further
        progress(m * last // samples - m * first // samples)

    mean = total / samples
    variance = (total_of_squares - samples * mean**2) / (samples - 1)
    error = np.sqrt(np.maximum(variance, 0.0) / samples)
    mean, error = mean.T, error.T
    if is_symmetric:
        constant, alternating = limits**2
        mean[:, 0::2] += (constant - alternating)[:, None]
        mean[:, 1::2] += (constant + alternating)[:, None]
        is_bipartite = alternating > 0
        mean[is_bipartite, 0::2] = error[is_bipartite, 0::2] = 0.0
    exact = np.stack([forward.diagonal(), forward.multiply(backward).sum(1)], axis=1)
    mean[:, :_EXACT_STEPS], error[:, :_EXACT_STEPS] = exact[:, :steps], 0.0
    return mean, error


def _signs(m: int, seed: int, sample: int) -> np.ndarray:
    """``[m]`` of ±1, from the seed (any 64-bit integer) and the number of the draw alone."""
    bits = np.random.default_rng((seed % 2**64, sample)).integers(0, 2, m, dtype=np.int8)
    return 2.0 * bits - 1.0


def _limits(matrix: sp.csr_array, degrees: np.ndarray) -> np.ndarray:
    """``[2, m]``: each node's entry of the eigenvectors of S to 1 and, if bipartite, −1 (else 0).

    They are ±√d on one component each. Its double cover, two copies of the nodes with edges from
    copy to copy only, falls into two parts if it is bipartite, one for either colour.
    """
    m = matrix.shape[0]
    _, labels = csgraph.connected_components(matrix, directed=False)
    constant = np.sqrt(degrees / np.bincount(labels, degrees)[labels])
    _, parts = csgraph.connected_components(
        sp.block_array([[None, matrix], [matrix, None]], format="csr"), directed=False
    )
    here, there = parts[:m], parts[m:]
    return np.stack([constant, constant * np.sign(here - there)])


def _without_limits(block: np.ndarray, limits: np.ndarray, matrix: sp.csr_array) -> np.ndarray:
    """The columns less their parts along the eigenvectors in ``limits``, component by component."""
    _, labels = csgraph.connected_components(matrix, directed=False)
    for vector in limits:
        weighted = vector[:, None] * block
        sums = np.stack([np.bincount(labels, column) for column in weighted.T], axis=1)
        block = block - vector[:, None] * sums[labels]
    return block
