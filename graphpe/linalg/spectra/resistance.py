"""Effective resistances of a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time
from graphpe.linalg.laplacian import without_self_loops

_NOTHING = 1e-300  # no conductance is so small, save none at all


def effective_resistances(adjacency: Tensor) -> Tensor:
    r"""The effective resistance between all pairs of nodes; an edge is a conductor of conductance w.

    .. math:: R_{ij} = L^+_{ii} + L^+_{jj} - 2 L^+_{ij}, \qquad L = D - A

    The nodes are eliminated one by one (each a star that becomes a mesh), and put back in the
    opposite order. Nothing large is subtracted on the way, so each resistance keeps its digits
    whatever the weights: 1e-30 next to 1e30 is no worse than all ones.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric, non-negative. Self-loops are removed.

    Returns:
        ``[b, n, n]``, symmetric, zero on the diagonal. Between components it has no
        meaning. The result of one graph has the same bytes whatever else is in the stack.
    """
    result = torch.zeros_like(adjacency, memory_format=torch.contiguous_format)
    size = graphs_at_a_time(adjacency)
    for part, part_result in zip(adjacency.split(size), result.split(size), strict=True):
        _fill_resistances(part, part_result)
    return result


def _fill_resistances(adjacency: Tensor, resistance: Tensor) -> None:
    n = adjacency.shape[-1]
    conductance = without_self_loops(adjacency)
    shares, inverse_totals = [], []
    for node in range(n - 1):
        edges = conductance[:, node, node + 1 :]
        inverse_total = edges.sum(-1, keepdim=True).clamp_min_(_NOTHING).reciprocal_()
        share = edges * inverse_total
        # a star with conductances c_i becomes a mesh with conductances c_i c_j / Σ c
        conductance[:, node + 1 :, node + 1 :].addcmul_(edges.unsqueeze(-1), share.unsqueeze(-2))
        shares.append(share)
        inverse_totals.append(inverse_total)
    for node in range(n - 2, -1, -1):
        share = shares[node]
        others = resistance[:, node + 1 :, node + 1 :]
        # one unit of current enters at the node and leaves through its edges
        means = (others * share.unsqueeze(-2)).sum(-1)
        spread = (means * share).sum(-1, keepdim=True) / 2
        values = inverse_totals[node] + (means - spread)
        resistance[:, node, node + 1 :] = values
        resistance[:, node + 1 :, node] = values
