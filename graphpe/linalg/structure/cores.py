"""Cores of graphs by peeling: all nodes that can go, go at once."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.structure.neighbors import Neighbors


def core_numbers(neighbors: Neighbors) -> Tensor:
    """The largest k for which each node is in a k-core, a subgraph with all degrees at least k.

    Args:
        neighbors: The graphs.

    Returns:
        ``[N]`` int64; 0 for an isolated node.

    Paper: Seidman, "Network structure and minimum degree", Social Networks 1983.
    """
    degree = neighbors.degree.clone()
    left = torch.ones_like(degree, dtype=torch.bool)
    core = torch.zeros_like(degree)
    nodes = torch.arange(len(degree), device=degree.device)
    while len(nodes):
        k = int(degree[nodes].min())
        peel(neighbors, degree, left, k)
        core[nodes[~left[nodes]]] = k
        nodes = nodes[left[nodes]]
    return core


def peel(neighbors: Neighbors, degree: Tensor, left: Tensor, k: int) -> None:
    """Takes away nodes with at most k neighbours until there are none; changes ``degree`` and ``left``.

    Args:
        neighbors: The graphs.
        degree: ``[N]`` number of neighbours that are left, for nodes that are left.
        left: ``[N]`` whether a node is left.
        k: Largest degree that goes.
    """
    leaving = (left & (degree <= k)).nonzero().flatten()
    while len(leaving):
        left[leaving] = False
        affected = neighbors.of(leaving)
        affected = affected[left[affected]]
        degree.index_add_(0, affected, torch.full_like(affected, -1))
        leaving = affected[degree[affected] <= k].unique()
