"""Personalised PageRank of one large sparse graph, towards a few landmarks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# What the walks that are not followed to their end may add to a value.
TOLERANCE = 1e-8

_COLUMNS = 16  # landmarks done at a time; fixed, so that a value does not depend on the memory


def pagerank_to_landmarks(
    adjacency: sp.csr_array, landmarks: np.ndarray, restart: float, steps: int | None = None
) -> np.ndarray:
    """Probability that a walk from each node that stops with probability p before each step stops at a landmark.

    The columns of p Σ_t (1−p)^t P^t that belong to landmarks l, term by term: x_0 = e_l and
    x_{t+1} = P x_t. Entries of x_t never grow, so that the rest of the sum is at most
    (1−p)^{t+1} max x_{t+1}.

    Args:
        adjacency: ``[n, n]`` non-negative; may be directed; self-loops are kept.
        landmarks: ``[l]`` node numbers.
        restart: Probability p to stop, 0 < p <= 1.
        steps: Largest t; None sums until the rest is below 1e-8.

    Returns:
        ``[n, l]`` float64.
    """
    degree = adjacency.sum(1)
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    going_on = sp.csr_array(sp.diags_array((1 - restart) * inverse) @ adjacency)
    result = np.empty((adjacency.shape[0], len(landmarks)))
    for start in range(0, len(landmarks), _COLUMNS):
        chosen = landmarks[start : start + _COLUMNS]
        result[:, start : start + _COLUMNS] = _sum_of_terms(going_on, chosen, restart, steps)
    return result


def _sum_of_terms(
    going_on: sp.csr_array, landmarks: np.ndarray, restart: float, steps: int | None
) -> np.ndarray:
    term = np.zeros((going_on.shape[0], len(landmarks)))
    term[landmarks, np.arange(len(landmarks))] = 1.0
    total = term.copy()
    step = 0
    while steps is None or step < steps:
        term = going_on @ term
        if term.max(initial=0.0) < TOLERANCE:
            break
        total += term
        step += 1
    return restart * total
