"""Weisfeiler-Leman colours as hashes, the same for the same neighbourhood in any graph and any process."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.structure.neighbors import Neighbors

# splitmix64 (Steele, Lea and Flood 2014), whose multipliers are written as signed 64-bit integers.
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
_INCREMENT = 0x9E3779B97F4A7C15 - 2**64


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
        around = neighbors.sum(mix(color + _INCREMENT))
        color = mix(color * _MULTIPLIERS[1] + around + _INCREMENT)
    return color


def mix(number: Tensor) -> Tensor:
    """A bijection of 64-bit integers that changes about half the bits when one changes."""
    number = (number ^ _shifted(number, 30)) * _MULTIPLIERS[0]
    number = (number ^ _shifted(number, 27)) * _MULTIPLIERS[1]
    return number ^ _shifted(number, 31)


def _shifted(number: Tensor, bits: int) -> Tensor:
    """To the right, zeros from the left: of unsigned integers, which torch lacks."""
    return (number >> bits) & (2 ** (64 - bits) - 1)
