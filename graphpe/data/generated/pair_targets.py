"""What is asked about the pairs of nodes of directed graphs, for stacks of graphs of equal size.

Each function takes ``connected [b, n, n]`` bool, whether there is an edge u→v, self-loops included, and returns
``[b, n, n, T]`` float32 with NaN for the pairs that are left out.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphpe.linalg.distances.shortest_paths import hop_distances
from graphpe.linalg.walks.walk_profiles import walk_profiles


def adjacency(connected: Tensor) -> Tensor:
    """1 for an edge u→v and 0 for none; without the diagonal."""
    return _without_diagonal(connected.float())[..., None]


def reachability(connected: Tensor) -> Tensor:
    """1 where a path leads from u to v and 0 where none does; without the diagonal."""
    return _without_diagonal(hop_distances(connected).isfinite().float())[..., None]


def shortest_distance(connected: Tensor) -> Tensor:
    """Number of edges of a shortest path from u to v, where there is one; without the diagonal."""
    distance = hop_distances(connected)
    return _without_diagonal(distance.masked_fill(distance.isinf(), torch.nan))[..., None]


def undirected_distance(connected: Tensor) -> Tensor:
    """`shortest_distance` with edges taken in either direction."""
    return shortest_distance(connected | connected.mT)


def longest_distance_acyclic(connected: Tensor) -> Tensor:
    """Number of edges of a longest path from u to v in an acyclic graph, where there is one; without the diagonal."""
    longest = torch.where(connected, 1.0, -torch.inf)
    # Floyd-Warshall with the maximum: without cycles, no way joined from two paths meets a node twice.
    for via in range(connected.shape[-1]):
        torch.maximum(longest, longest[:, :, via, None] + longest[:, None, via, :], out=longest)
    return longest.masked_fill(longest.isinf(), torch.nan)[..., None]


def longest_distance(connected: Tensor, cutoff: int) -> Tensor:
    """Number of edges of a longest simple path of at most ``cutoff`` edges from u to v; without the diagonal.

    All simple paths are followed, so time and memory grow with the ``cutoff``-th power of the mean degree. Pairs that
    no such path joins are left out, also where a longer one does.
    """
    longest = np.full(connected.shape, np.nan, dtype=np.float32)
    for graph, result in zip(connected.numpy(), longest, strict=True):
        _longest_simple_paths(graph, cutoff, result)
    return torch.from_numpy(longest)[..., None]


def walk_profile(connected: Tensor, length: int) -> Tensor:
    """Φ(l, 0), ..., Φ(l, l): the numbers of walks of l steps from u to v with k edges forwards and l − k backwards.

    For pairs that any such walk joins, the diagonal included; walks don't use self-loops. Numbers that float32 can't
    hold are infinite.
    """
    adjacency = connected.double()
    adjacency.diagonal(dim1=1, dim2=2).zero_()
    last = walk_profiles(adjacency, length, torch.float32)[..., -(length + 1) :]
    last.masked_fill_(last.isnan(), torch.inf)  # ∞ · 0, where float64 can't hold them either
    return last.masked_fill((last == 0).all(-1, keepdim=True), torch.nan)


def _without_diagonal(target: Tensor) -> Tensor:
    target.diagonal(dim1=1, dim2=2).fill_(torch.nan)
    return target


def _longest_simple_paths(connected: np.ndarray, cutoff: int, result: np.ndarray) -> None:
    """Writes into ``result [n, n]``; longer paths overwrite shorter ones."""
    sources, targets = np.nonzero(connected)
    degree = np.bincount(sources, minlength=len(connected))
    first = degree.cumsum() - degree
    # All simple paths of so many edges, one per row.
    paths = np.arange(len(connected))[:, None]
    for edges in range(1, cutoff + 1):
        last = paths[:, -1]
        count = degree[last]
        start = (first[last] - (count.cumsum() - count)).repeat(count)
        following = targets[start + np.arange(len(start))]
        paths = paths.repeat(count, axis=0)
        is_new = (paths != following[:, None]).all(1)
        paths = np.concatenate([paths, following[:, None]], axis=1)[is_new]
        result[paths[:, 0], paths[:, -1]] = edges
