"""Random walks along the directed edges of one large sparse graph that stay where no edge leads on."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphpe.linalg.large.pagerank import TOLERANCE


def with_loops_at_sinks(adjacency: sp.csr_array) -> sp.csr_array:
    """The adjacency ``[n, n]`` with a self-loop of weight 1 at each node without outgoing edges."""
    is_sink = np.diff(adjacency.indptr) == 0
    return sp.csr_array(adjacency + sp.diags_array(is_sink.astype(np.float64)))


def arrivals(adjacency: sp.csr_array, walk_length: int, restart: float | None = None) -> np.ndarray:
    """How many walks are at v after 1, ..., K steps if one starts at each node: Σ_u (P^k)_uv.

    Args:
        adjacency: ``[n, n]`` non-negative, without explicit zeros; may be directed; self-loops are kept.
        walk_length: Number of steps K >= 1.
        restart: With a probability p, one more column: how many stop at v if each stops with
            probability p before each step, p Σ_t (1−p)^t Σ_u (P^t)_uv, without the terms that are
            below 1e-8 together.

    Returns:
        ``[n, K]`` or ``[n, K + 1]`` float64.
    """
    degree = adjacency.sum(1)
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    onward = sp.csr_array((sp.diags_array(inverse) @ adjacency).T)
    walks = np.ones(adjacency.shape[0])
    columns = []
    stopped = np.zeros_like(walks) if restart is None else restart * walks
    weight = 0.0 if restart is None else 1.0 - restart  # (1−p)^t, the share that still goes on
    step = 1
    while step <= walk_length or weight * walks.sum() > TOLERANCE:
        walks = onward @ walks
        if step <= walk_length:
            columns.append(walks)
        if restart is not None:
            stopped += restart * weight * walks
            weight *= 1.0 - restart
        step += 1
    if restart is not None:
        columns.append(stopped)
    return np.stack(columns, axis=-1)
