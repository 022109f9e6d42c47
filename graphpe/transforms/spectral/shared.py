"""What the encodings of this family have in common: computed once per block, by ``block.shared``."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block
from graphpe.linalg.spectra.eigenspaces import eigenspace_starts
from graphpe.linalg.spectra.resistance import effective_resistances


def same_component(block: Block) -> Tensor:
    """``[b, n, n]`` bool: whether two nodes are in one component."""
    own = block.component_labels
    return own.unsqueeze(-1) == own.unsqueeze(-2)


def within_components(block: Block, values: Tensor) -> Tensor:
    """``values [b, n, n, ...]`` with 0 between components."""
    if not bool(block.component_labels.any()):  # all graphs are connected
        return values
    same = block.shared(same_component)
    return values * same.view(*same.shape, *[1] * (values.dim() - 3))


def component_sizes(block: Block) -> Tensor:
    """``[b, n]`` int64 number of nodes of the component of each node."""
    labels = block.component_labels
    return (
        torch.zeros_like(labels).scatter_add_(1, labels, torch.ones_like(labels)).gather(1, labels)
    )


def simple_degrees(block: Block) -> Tensor:
    """``[b, n]`` weighted degrees of the undirected graph without self-loops."""
    return linalg.degree(linalg.without_self_loops(block.undirected_adjacency))


def zero_counts(block: Block, normalization: linalg.Normalization) -> Tensor:
    """``[b, 1]`` int64 number of zero modes, which is that of connected components."""
    values, _ = block.eigenpairs(normalization)
    return (values == 0).sum(-1, keepdim=True)


def starts(block: Block, normalization: linalg.Normalization) -> Tensor:
    """``[b, n]`` bool: which eigenpairs are the first of their eigenspace; see `eigenspace_starts`."""
    values, _ = block.eigenpairs(normalization)
    return eigenspace_starts(values, block.shared(zero_counts, normalization), values[:, -1:])


def resistances(block: Block) -> Tensor:
    """``[b, n, n]`` effective resistances; 0 between components."""
    return within_components(block, effective_resistances(block.undirected_adjacency))
