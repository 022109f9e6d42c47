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
    result = slot.new_empty(b, n, n, count)
    if result.numel() == 0 or len(slot) == 0:
        return result.fill_(-1)
    # half as many bytes as int64 where that is enough
    integer = torch.int32 if max(b * n * n, len(slot)) < 2**31 else torch.int64
    first = _first_edges(distance, slot, source, target, integer).flatten()
    position = torch.nn.functional.pad(position.to(integer), (0, 1), value=-1)
    first_position = position.index_select(0, first)
    result[..., 0] = first_position.view(b, n, n)

    # All paths at once, one edge after the other. A pair (u, v) of a graph is one number; behind u comes the pair
    # (w, v) of the node w to which the first edge leads. A path that has ended stays where it is.
    pair = torch.arange(b * n * n, device=slot.device, dtype=integer)
    shift = torch.nn.functional.pad((target - source).to(integer) * n, (0, 1))
    next_pair = pair + shift.index_select(0, first)
    pair = next_pair
    for step in range(1, count):
        result[..., step] = first_position.index_select(0, pair).view(b, n, n)
        if step + 1 < count:
            pair = next_pair.index_select(0, pair)
    return result


def _first_edges(
    distance: Tensor, slot: Tensor, source: Tensor, target: Tensor, integer: torch.dtype
) -> Tensor:
    """``[b, n, n]``: the first edge of the list that leads from u closer to v, e where none does."""
    b, n, _ = distance.shape
    no_edge = len(slot)
    # rows of distances; where no path leads, no number is one less than another
    rows = torch.where(torch.isinf(distance), -2.0, distance).view(b * n, n)
    first = slot.new_full((b * n, n), no_edge, dtype=integer)
    number = torch.arange(no_edge, device=slot.device, dtype=integer)
    starts, ends = slot * n + source, slot * n + target
    at_a_time = max(1, _ENTRIES // n)
    for edges, start, end in zip(
        number.split(at_a_time), starts.split(at_a_time), ends.split(at_a_time), strict=True
    ):
        leads_closer = rows.index_select(0, end) == rows.index_select(0, start) - 1
        candidates = torch.where(leads_closer, edges[:, None], no_edge)
        first.scatter_reduce_(0, start[:, None].expand(-1, n), candidates, "amin")
    return first.view(b, n, n)
