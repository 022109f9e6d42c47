"""The propagation operator of one large sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphpe.linalg.walks.propagation import PropagationOperator


def sparse_propagation_matrix(
    adjacency: sp.csr_array, operator: PropagationOperator
) -> sp.csr_array:
    """The sparse form of `graphpe.linalg.walks.propagation.propagation_matrix`.

    Args:
        adjacency: ``[n, n]`` float64; symmetric unless the operator is ``"walk"``.
        operator: ``"sym"``, ``"sym-loops"``, ``"laplacian"`` or ``"walk"``.

    Returns:
        ``[n, n]``.
    """
    identity = sp.eye_array(adjacency.shape[0], format="csr")
    if operator == "laplacian":
        adjacency = adjacency - sp.diags_array(adjacency.diagonal(), format="csr")
    if operator == "sym-loops":
        adjacency = adjacency + identity
    degrees = np.asarray(adjacency.sum(1))
    has_edges = degrees > 0
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=has_edges)
    if operator == "walk":
        return sp.csr_array(sp.diags_array(inverse) @ adjacency)
    scale = sp.diags_array(np.sqrt(inverse))
    symmetric = sp.csr_array(scale @ adjacency @ scale)
    if operator == "laplacian":
        return sp.csr_array(sp.diags_array(has_edges.astype(np.float64)) - symmetric)
    return symmetric
