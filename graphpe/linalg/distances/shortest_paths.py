"""Shortest-path distances between all nodes, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time

# Twice as much still fits into int16.
_LARGEST_INT16 = 2**14 - 1


def hop_distances(connected: Tensor) -> Tensor:
    """Number of edges of a shortest path from each node to each other.

    The algorithm is that of `shortest_path_lengths` in 16-bit integers, whose few instructions are
    faster than a breadth-first search by matrix products, also for small diameters.

    Args:
        connected: ``[b, n, n]`` bool, whether there is an edge u→v; may be directed.

    Returns:
        ``[b, n, n]`` float32 whole numbers from u to v: 0 on the diagonal, inf where no path leads.
    """
    n = connected.shape[-1]
    dtype = torch.int16 if n <= _LARGEST_INT16 else torch.int32
    unreachable = _LARGEST_INT16 if dtype == torch.int16 else 2**30 - 1
    hops = torch.full_like(connected, unreachable, dtype=dtype)
    hops.masked_fill_(connected, 1)
    _floyd_warshall(hops)
    return hops.to(torch.float32).masked_fill_(hops == unreachable, torch.inf)


def shortest_path_lengths(lengths: Tensor) -> Tensor:
    """Length of a shortest path from each node to each other.

    Args:
        lengths: ``[b, n, n]`` floating-point lengths >= 0 of the edges u→v, inf where there is none;
            the diagonal is ignored.

    Returns:
        ``[b, n, n]`` lengths from u to v in the same dtype: 0 on the diagonal, inf where no path leads.
    """
    result = lengths.clone(memory_format=torch.contiguous_format)
    _floyd_warshall(result)
    return result


def _floyd_warshall(lengths: Tensor) -> None:
    """Turns the lengths of edges ``[b, n, n]`` into those of shortest paths.

    Through one node after the other, for all graphs and pairs at once; the sum of two lengths must
    not overflow.
    """
    lengths.diagonal(dim1=-2, dim2=-1).zero_()
    for part in lengths.split(graphs_at_a_time(lengths)):
        detour = torch.empty_like(part)
        for via in range(part.shape[-1]):
            torch.add(part[:, :, via, None], part[:, None, via, :], out=detour)
            torch.minimum(part, detour, out=part)
