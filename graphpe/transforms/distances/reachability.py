"""Which nodes paths lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.fields import Field
from graphpe.linalg.distances.reachability import reachability
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddReachabilityPE(Encoding):
    r"""Adds whether a directed path leads from each node to each other, and whether one leads back.

    .. math:: r_{uv} = \left([u \leadsto v], [v \leadsto u]\right)

    A path of no edges counts, so every node reaches itself. Both are 1 for the nodes of one strongly connected
    component, and so for a connected undirected graph everywhere. Self-loops, parallel edges and the size of
    ``edge_weight`` change nothing; an edge of weight 0 is none.

    Writes:
        ``attr_name``: ``[n * n, 2]``, each 1 or 0 (pair level).

    Args:
        attr_name: Name of the field.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect: all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Luo, Thost and Shi, "Transformers over Directed Acyclic Graphs", https://arxiv.org/abs/2210.13148 (attention
        between nodes of which one reaches the other).
    """

    attr_name: str | None = "reachability_pe"

    cost: ClassVar[str] = "O(n³ log n) per graph"
    paper: ClassVar[str] = "Luo et al. 2023"
    sparse_alternative: ClassVar[str] = "take AddTopologicalOrderPE instead, or "

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", 2, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        reaches = reachability(block.adjacency > 0)
        return (torch.stack([reaches, reaches.mT], dim=-1).to(self.torch_dtype),)
