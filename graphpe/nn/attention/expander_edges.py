"""Edges of random expanders on the nodes of each graph."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.draws.random_numbers import combine
from graphpe.nn.layout import GraphLayout


def expander_edges(layout: GraphLayout, degree: int, seed: int = 0) -> Tensor:
    r"""Draws a random regular graph on the nodes of each graph: the union of random cycles through all of them.

    Each of ``degree / 2`` random cyclic permutations :math:`\pi` gives the edges :math:`i \to \pi(i)` and
    :math:`\pi(i) \to i`. Such a graph is connected, and with high probability an expander, whose second eigenvalue
    is close to :math:`2 \sqrt{d - 1}`. Parallel edges are kept, so that all nodes have the same degree: there are
    some where two cycles meet, and only those on two or three nodes. A graph of one node has none.

    The edges depend on ``seed``, on the number of nodes of the graph and on the places of the nodes in it alone: not
    on the other graphs of a batch, but on how the nodes are numbered.

    Args:
        layout: Where the graphs lie.
        degree: The degree d, even.
        seed: Other seeds give other edges.

    Returns:
        ``[2, E]``, both directions of each edge.

    References:
        Friedman, "A proof of Alon's second eigenvalue conjecture and related problems",
        https://arxiv.org/abs/cs/0405020;
        Shirzad et al., "Exphormer: Sparse Transformers for Graphs", https://arxiv.org/abs/2303.06147.
    """
    batch, first = layout.batch, layout.ptr[layout.batch]
    node = torch.arange(layout.num_nodes, device=batch.device)
    size = layout.sizes[batch]
    cycle = torch.arange(degree // 2, device=batch.device)
    keys = combine(combine(size.new_full((), seed), size)[:, None], cycle)
    bits = combine(keys, (node - first)[:, None])
    # Nodes sorted by graph, and by random bits in it: the order in which a cycle visits them.
    order = bits.argsort(dim=0, stable=True)
    visit = order.gather(0, batch[order].argsort(dim=0, stable=True))
    following = torch.where(node + 1 < first + size, node + 1, first)
    source, target = visit.t().flatten(), visit[following].t().flatten()
    edge_index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    return edge_index[:, edge_index[0] != edge_index[1]]
