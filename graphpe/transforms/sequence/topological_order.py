"""Where a node lies between the sources and the sinks of a directed graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.sequence.node_order import condensation


@dataclass(frozen=True, repr=False)
class AddTopologicalOrderPE(Encoding):
    """Adds the topological generation, the depth and the height of each node of a directed graph.

    A source is a node without incoming edges, a sink one without outgoing ones. In a graph with cycles all three are
    those of the condensation: a strongly connected component counts as one node, so that in an undirected graph they
    are 0. Self-loops, parallel edges and the size of ``edge_weight`` have no effect; an edge of weight 0 is none.

    Writes:
        ``attr_name``: ``[n, 3]`` int64 categories (node level): the number of edges on the longest path from a source
        (topological generation), on the shortest path from a source (depth), and on the longest path to a sink
        (height), each at most ``maximum``. In a tree with edges away from the root the first two are the same.

    Args:
        maximum: Larger values are cut to it; ogbg-code2 networks take the depth up to 20.
        attr_name: Name of the field; None concatenates it to ``x``.
        dtype: Of no effect: the values are integers.
        dense_limit: Of no effect on the values.

    References:
        Luo, Thost and Shi, "Transformers over Directed Acyclic Graphs", https://arxiv.org/abs/2210.13148 (depth).
    """

    maximum: int = 20
    attr_name: str | None = "topological_order_pe"

    cost: ClassVar[str] = "O(n + e)"
    paper: ClassVar[str] = "Luo et al. 2023"

    def __post_init__(self) -> None:
        require_positive_integer("maximum", self.maximum)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 3, torch.int64, categories=self.maximum + 1),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (self._encode(block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (self._encode(graph),)

    def _encode(self, part: Block | LargeGraph) -> Tensor:
        graphs = condensation(part)
        values = np.stack([graphs.generations(), graphs.depths(), graphs.heights()], axis=-1)
        values = torch.from_numpy(values).to(part.graphs.device)
        number = len(part) if isinstance(part, Block) else 1
        return values.clamp_max(self.maximum).view(number, part.n, 3)
