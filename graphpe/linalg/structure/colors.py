"""Weisfeiler-Leman colours as hashes, the same for the same neighbourhood in any graph and any process."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.draws.random_numbers import GOLDEN_RATIO, SECOND_FACTOR, mix
from graphpe.linalg.structure.neighbors import Neighbors


def weisfeiler_leman_colors(neighbors: Neighbors, rounds: int) -> Tensor:
    """The colour of each node after some rounds of colour refinement, as a 64-bit hash.

    c⁰ is the same for all nodes, and c^{r+1}(v) hashes c^r(v) and the multiset of the c^r of v's neighbours. The
    multiset is hashed as the sum of its mixed members (modulo 2⁶⁴), which does not depend on their order.

    Args:
        neighbors: The graphs.
        rounds: Number of rounds, at least 0.

    Returns:
        ``[N]`` int64; equal colours get equal numbers, different ones different numbers but for collisions of a 64-bit
        hash: about D²/2⁶⁵ of them in all for D colours.

    Paper: Weisfeiler and Leman, "The reduction of a graph to canonical form", 1968.
    """
    color = torch.zeros_like(neighbors.degree)
    for _ in range(rounds):
        around = neighbors.sum(mix(color + GOLDEN_RATIO))
        color = mix(color * SECOND_FACTOR + around + GOLDEN_RATIO)
    return color
