"""The edges along one shortest path between each pair of nodes, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

# Entries of the table of edges and destinations that is made at a time; bounds the work space.
_ENTRIES = 2**17


def shortest_path_edges(
    distance: Tensor, slot: Tensor, source: Tensor, target: Tensor, position: Tensor, count: int
) -> Tensor:
    """The first edges along a shortest path from each node to each other.

    Of all edges that lead closer to the destination, a path takes the first one of the list, and so
    on from where that leads.

    Args:
        distance: ``[b, n, n]`` number of edges of a shortest path, inf where there is none.
        slot: ``[e]`` int64, which of the b graphs each edge belongs to.
        source: ``[e]`` int64.
        target: ``[e]`` int64.
        position: ``[e]`` int64 >= 0, what stands for each edge in the result.
        count: Number of edges m >= 1 of a path to give.

    Returns:
        ``[b, n, n, m]`` int64 positions of edges; −1 behind the end of a path, and where none leads.

    Paper: Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", NeurIPS 2021.
    """
    b, n, _ = distance.shape
    result = slot.new_full((b, n, n, count), -1)
    if result.numel() == 0 or len(slot) == 0:
        return result
    first = _first_edges(distance, slot, source, target)
    first_position = torch.nn.functional.pad(position, (0, 1), value=-1)[first]
    result[..., 0] = first_position
    if count == 1:
        return result

    # All paths at once, one edge after the other; a path that has ended stays where it is.
    node = torch.arange(n, device=slot.device)[:, None]
    next_node = torch.nn.functional.pad(target, (0, 1))[first]
    next_node = torch.where(first_position < 0, node, next_node)
    node = next_node
    for step in range(1, count):
        result[..., step] = first_position.gather(1, node)
        if step + 1 < count:
            node = next_node.gather(1, node)
    return result


def _first_edges(distance: Tensor, slot: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """``[b, n, n]``: the first edge of the list that leads from u closer to v, e where none does."""
    b, n, _ = distance.shape
    no_edge = len(slot)
    # rows of distances; where no path leads, no number is one less than another
    rows = torch.where(torch.isinf(distance), -2.0, distance).view(b * n, n)
    first = slot.new_full((b * n, n), no_edge)
    number = torch.arange(no_edge, device=slot.device)
    for edges in number.split(max(1, _ENTRIES // n)):
        start = slot[edges] * n + source[edges]
        end = slot[edges] * n + target[edges]
        leads_closer = rows[end] == rows[start] - 1
        candidates = torch.where(leads_closer, edges[:, None], no_edge)
        first.scatter_reduce_(0, start[:, None].expand(-1, n), candidates, "amin")
    return first.view(b, n, n)
