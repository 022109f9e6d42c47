"""The choice of landmarks: a few nodes of each graph that others are described by."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.linalg.draws import random_numbers
from graphpe.transforms.core.seeds import graph_keys
from graphpe.transforms.distances.lengths import distances_to

Strategy = Literal["random", "degree", "farthest-point"]

# Nodes of equal degree are told apart by the number of walks of up to so many steps.
_WALK_LENGTH = 3


def choose_landmarks(part: Block | LargeGraph, count: int, strategy: Strategy, seed: int) -> Tensor:
    """Some nodes of each graph, in the order in which they are chosen.

    - ``"random"``: without replacement, by the seed and the content of the graph.
    - ``"degree"``: nodes with most neighbours (in either direction, loops and parallel edges not counted); of those
      with equally many, the ones from which more walks of 2 steps, then of 3 steps, set out; then the lower number.
    - ``"farthest-point"``: first the one of highest degree, then, time after time, the node with the longest way (in
      edges) to the nearest landmark so far. A node that reaches no landmark is farther than all others, so that
      each component gets a landmark as long as there are some left. Ties are broken as for ``"degree"``.

    Args:
        part: A block of graphs, or one large graph.
        count: Number of landmarks.
        strategy: How to choose them.
        seed: Seed of the random choice.

    Returns:
        ``[b, min(count, n)]`` int64 node numbers.
    """
    count = min(count, part.n)
    if strategy == "random":
        draws = random_numbers.uniform(graph_keys(part, seed), part.n, 1)[..., 0]
        return draws.argsort(dim=1, stable=True)[:, :count]
    order = _by_degree(_walk_counts(part))
    if strategy == "degree" or count == 0:
        return order[:, :count]
    return _farthest_points(part, order, count)


def _walk_counts(part: Block | LargeGraph) -> list[Tensor]:
    """``[b, n]`` numbers of walks of 1, 2, ... steps from each node, on the simple undirected graph.

    They are whole numbers, so that the order in which they are added up does not matter.
    """
    if isinstance(part, Block):
        simple = ((part.adjacency > 0) | (part.adjacency.mT > 0)).double()
        simple.diagonal(dim1=-2, dim2=-1).zero_()
        counts = [simple.sum(-1)]
        while len(counts) < _WALK_LENGTH:
            counts.append((simple @ counts[-1][..., None])[..., 0])
        return counts
    simple = (part.adjacency + part.adjacency.T).tocoo()
    others = simple.row != simple.col
    source, target = simple.row[others], simple.col[others]
    counts = [np.bincount(source, minlength=part.n).astype(np.float64)]
    while len(counts) < _WALK_LENGTH:
        counts.append(np.bincount(source, weights=counts[-1][target], minlength=part.n))
    return [torch.from_numpy(count)[None] for count in counts]


def _by_degree(walk_counts: list[Tensor]) -> Tensor:
    """``[b, n]`` nodes by the first of ``walk_counts``, then the second, ..., then their number."""
    order = torch.arange(walk_counts[0].shape[1], device=walk_counts[0].device)
    order = order.expand_as(walk_counts[0])
    for count in reversed(walk_counts):
        by_count = count.gather(1, order).argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, by_count)
    return order


def _farthest_points(part: Block | LargeGraph, order: Tensor, count: int) -> Tensor:
    """The landmarks; of nodes equally far, the first in ``order [b, n]`` is taken."""
    nearest = torch.full(order.shape, torch.inf, dtype=torch.float64, device=order.device)
    distances = distances_to(part)
    chosen = []
    for _ in range(count):
        # argmax gives the first of several maxima
        place = nearest.gather(1, order).argmax(dim=1, keepdim=True)
        landmark = order.gather(1, place)
        chosen.append(landmark)
        nearest = torch.minimum(nearest, distances(landmark)[..., 0])
    return torch.cat(chosen, dim=1)
