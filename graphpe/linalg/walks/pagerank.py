"""Personalised PageRank of all pairs of nodes, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.laplacian import transition_matrix


def personalized_pagerank(adjacency: Tensor, restart: float, steps: int | None = None) -> Tensor:
    """Probability that a walk from u that stops with probability p before each step stops at v.

    p Σ_t (1−p)^t P^t, over all t = p (I − (1−p) P)^{-1}, or over t <= ``steps``.

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative; may be directed; self-loops are kept.
        restart: Probability p to stop, 0 < p <= 1.
        steps: Largest t; None for all.

    Returns:
        ``[b, n, n]``. A walk that has no edge to take is lost: the row of a node that reaches no
        sink sums to 1 (to 1 − (1−p)^{steps+1} for a limited number of steps), others to less.

    Paper: Gasteiger et al., "Predict then Propagate", ICLR 2019.
    """
    going_on = (1 - restart) * transition_matrix(adjacency)
    identity = torch.eye(adjacency.shape[-1], dtype=adjacency.dtype, device=adjacency.device)
    if steps is None:
        result = torch.linalg.inv(identity - going_on)
    else:
        result = _geometric_sum(going_on, identity.expand_as(going_on), steps + 1)
    return result.mul_(restart).clamp_(0.0, 1.0)  # rounding may leave [0, 1]


def _geometric_sum(matrix: Tensor, identity: Tensor, terms: int) -> Tensor:
    """I + M + ... + M^{terms−1}, by doubling: S_{2m} = S_m + M^m S_m and S_{m+1} = I + M S_m."""
    result, power = identity.clone(), matrix  # S_m and M^m for m = 1
    for bit in bin(terms)[3:]:
        result = result + power @ result
        power = power @ power
        if bit == "1":
            result = identity + matrix @ result
            power = matrix @ power
    return result
