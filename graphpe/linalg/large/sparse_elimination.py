"""Effective resistances along the edges of a sparse graph, by eliminating its nodes one by one."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu


def resistances_by_elimination(
    adjacency: sp.csr_array, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """The effective resistance between pairs of neighbours in a connected graph.

    As in :func:`graphpe.linalg.spectra.resistance.effective_resistances`, a node with conductances c_i to nodes
    not yet eliminated (its later neighbours) leaves them joined by c_i c_j / Σ c. These nodes,
    and the node itself, are one small dense matrix, that the next to be eliminated of them takes
    over. On the way back each node needs the resistances between its later neighbours only, which
    are in the matrix of that same node. Nothing large is subtracted, so all digits are right.

    Args:
        adjacency: ``[n, n]``, symmetric, connected, without self-loops.
        first: ``[m]`` one node of each pair.
        second: ``[m]`` another one, a neighbour of it.

    Returns:
        ``[m]`` float64.
    """
    n = adjacency.shape[0]
    order = _elimination_order(adjacency)
    matrix = adjacency[order][:, order].tocsr()
    matrix.sort_indices()
    later, shares, inverse_totals = _eliminate(matrix)

    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    low, high = np.sort(position[np.stack([first, second])], axis=0)
    by_low = np.argsort(low, kind="stable")
    ends = np.searchsorted(low[by_low], np.arange(n + 1))

    resistance = np.empty(len(low))
    waiting = np.bincount([nodes[0] for nodes in later if len(nodes)], minlength=n)
    fronts: dict[int, np.ndarray] = {}  # of the nodes that others wait for
    for node in range(n - 1, -1, -1):
        nodes, share = later[node], shares[node]
        front = np.zeros((len(nodes) + 1, len(nodes) + 1))
        if len(nodes):
            parent = nodes[0]
            place = np.searchsorted(later[parent], nodes[1:]) + 1
            place = np.concatenate([[0], place])
            front[1:, 1:] = fronts[parent][np.ix_(place, place)]
            means = front[1:, 1:] @ share
            front[0, 1:] = front[1:, 0] = inverse_totals[node] + (means - means @ share / 2)
            waiting[parent] -= 1
            if waiting[parent] == 0:
                del fronts[parent]
        if waiting[node]:
            fronts[node] = front
        own = by_low[ends[node] : ends[node + 1]]
        resistance[own] = front[0, np.searchsorted(nodes, high[own]) + 1]
    return resistance


def _elimination_order(adjacency: sp.csr_array) -> np.ndarray:
    """``[n]`` nodes in an order with little fill: the one that SuperLU finds."""
    shifted = sp.diags_array(2.0 * adjacency.sum(1)) - adjacency  # positive definite
    factor = splu(
        shifted.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.argsort(factor.perm_c)


def _eliminate(
    matrix: sp.csr_array,
) -> tuple[list[np.ndarray], list[np.ndarray], list[float]]:
    """Of each node its later neighbours (ascending), their shares of its conductance, and 1 / Σ c."""
    later, shares, inverse_totals = [], [], []
    meshes: dict[int, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    for node in range(matrix.shape[0]):
        row = slice(matrix.indptr[node], matrix.indptr[node + 1])
        is_later = matrix.indices[row] > node
        neighbours = matrix.indices[row][is_later]
        children = meshes.pop(node, [])
        nodes = np.unique(np.concatenate([neighbours, *(mesh[0][1:] for mesh in children)]))
        front = np.zeros((len(nodes) + 1, len(nodes) + 1))
        front[0, np.searchsorted(nodes, neighbours) + 1] = matrix.data[row][is_later]
        for mesh_nodes, mesh in children:  # the first of their nodes is this one
            place = np.concatenate([[0], np.searchsorted(nodes, mesh_nodes[1:]) + 1])
            front[np.ix_(place, place)] += mesh
        edges = front[0, 1:]
        inverse_total = 1.0 / edges.sum() if len(edges) else 0.0
        share = edges * inverse_total
        if len(nodes):
            meshes[nodes[0]].append((nodes, front[1:, 1:] + np.outer(edges, share)))
        later.append(nodes)
        shares.append(share)
        inverse_totals.append(inverse_total)
    return later, shares, inverse_totals
