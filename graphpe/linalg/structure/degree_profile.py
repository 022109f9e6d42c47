"""The degrees around each node, summed up."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.structure.neighbors import Neighbors


def local_degree_profile(neighbors: Neighbors) -> Tensor:
    """Degree, and the least, largest, mean and (population) standard deviation of the neighbours' degrees.

    Args:
        neighbors: The graphs.

    Returns:
        ``[N, 5]`` float64; zeros for an isolated node. Sums are of integers, so nothing is lost to rounding before
        the last division and root.

    Paper: Cai and Wang, "A simple yet effective baseline for non-attributed graph classification", 2018.
    """
    degree = neighbors.degree
    around = degree[neighbors.target]
    least, largest = (
        torch.zeros_like(degree).scatter_reduce_(
            0, neighbors.source, around, how, include_self=False
        )
        for how in ("amin", "amax")
    )
    count = degree.clamp(min=1)
    total = neighbors.sum(degree)
    # Var = (count Σ d² − (Σ d)²) / count²: whole numbers up to the division.
    spread = count * neighbors.sum(degree**2) - total**2
    deviation = spread.double().sqrt() / count
    return torch.stack([degree, least, largest, total / count.double(), deviation], dim=-1).double()
