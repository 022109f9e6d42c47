"""Which nodes of a directed graph are reached from which, for a stack of graphs of equal size."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time


def reachability(connected: Tensor) -> Tensor:
    """Whether a path leads from u to v, by squaring the matrix of paths of at most 1, 2, 4, ... edges.

    Args:
        connected: ``[b, n, n]`` bool, whether there is an edge u→v.

    Returns:
        ``[b, n, n]`` bool; every node reaches itself.
    """
    # sums of up to n ones are exact below 2^24
    paths = connected.to(torch.float32, memory_format=torch.contiguous_format)
    paths.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    for part in paths.split(graphs_at_a_time(paths)):
        longest = 1
        while longest < part.shape[-1] - 1:
            squared = (part @ part).clamp_max_(1.0)
            if torch.equal(squared, part):
                break
            part.copy_(squared)
            longest *= 2
    return paths > 0
