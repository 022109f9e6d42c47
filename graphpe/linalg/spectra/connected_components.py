"""Connected components of a stack of graphs, and the zero modes of their Laplacians."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor


def component_labels(adjacency: Tensor) -> Tensor:
    """The number of the component of each node, in each graph of a stack.

    Components are numbered from 0: the largest first, equally large ones by their first node. So the
    number of components of a graph is its largest label plus one.

    Args:
        adjacency: ``[b, n, n]``; an entry that is not 0 is an edge, whatever its direction.

    Returns:
        ``[b, n]`` int64.
    """
    slot, source, target = (adjacency != 0).nonzero(as_tuple=True)
    return component_labels_of_edges(slot, source, target, adjacency.shape[0], adjacency.shape[1])


def component_labels_of_edges(
    slot: Tensor, source: Tensor, target: Tensor, b: int, n: int
) -> Tensor:
    """The same for ``b`` graphs of ``n`` nodes given by their edges.

    Args:
        slot: ``[e]`` the graph of each edge.
        source: ``[e]`` node number from 0 to n - 1.
        target: ``[e]`` the same.
        b: Number of graphs.
        n: Number of nodes of each.

    Returns:
        ``[b, n]`` int64.
    """
    if b * n == 0:
        return torch.zeros(b, n, dtype=torch.long, device=slot.device)
    # All graphs as one.
    start = slot * n
    ends = (start + source).cpu().numpy(), (start + target).cpu().numpy()
    graph = sp.coo_array((np.ones(len(slot), dtype=np.int8), ends), shape=(b * n, b * n))
    count, labels = csgraph.connected_components(graph.tocsr(), directed=False)
    if count == b:  # each graph is connected
        return torch.zeros(b, n, dtype=torch.long, device=slot.device)

    # A component takes the place of its first node in the stack: that says its graph, too.
    sizes = np.bincount(labels, minlength=count)
    first_nodes = np.empty(count, dtype=np.int64)
    first_nodes[labels[::-1]] = np.arange(b * n)[::-1]  # of equal labels the last one written stays
    order = np.lexsort((first_nodes, -sizes, first_nodes // n))
    graphs = first_nodes[order] // n
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count) - np.searchsorted(graphs, graphs)
    return torch.from_numpy(rank[labels].reshape(b, n)).to(slot.device)


def has_several_largest(labels: Tensor) -> Tensor:
    """Whether no component is larger than all others, so that the order of nodes says which is first.

    Args:
        labels: ``[b, n]`` from :func:`component_labels`.

    Returns:
        ``[b, 1]`` bool; False for one component, or no node.
    """
    first, second = ((labels == number).sum(-1, keepdim=True) for number in (0, 1))
    return (first == second) & (second > 0)


def zero_modes(labels: Tensor, scale: Tensor) -> Tensor:
    """An orthonormal basis of the functions that are a multiple of ``scale`` on each component.

    These are the eigenvectors of the eigenvalue 0 of D − A (scale 1) and of L_sym (scale √d).

    Args:
        labels: ``[b, n]`` from :func:`component_labels`.
        scale: ``[b, n]``, positive.

    Returns:
        ``[b, n, n]``: column j belongs to component j; the columns beyond the last one are zero.
    """
    modes = torch.zeros(*labels.shape, labels.shape[1], dtype=scale.dtype, device=scale.device)
    modes.scatter_(-1, labels.unsqueeze(-1), scale.unsqueeze(-1))
    norms = modes.mT.contiguous().norm(dim=-1).unsqueeze(-2)
    return modes / torch.where(norms > 0, norms, 1.0)
