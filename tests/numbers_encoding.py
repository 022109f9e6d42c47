"""An encoding that writes a field of every level, for tests of what encodings share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphpe import Field
from graphpe.blocks import Block, LargeGraph
from graphpe.transforms import Encoding


@dataclass(frozen=True, repr=False)
class Numbers(Encoding):
    """Numbers of every level, all different, made from degrees and edges."""

    attr_name: str | None = "numbers_own"

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(self.field_name, "node", 2, self.torch_dtype),
            Field("numbers_edge", "edge", 1, self.torch_dtype),
            Field("numbers_pair", "pair", 2, self.torch_dtype),
            Field("numbers_graph", "graph", 2, self.torch_dtype),
            Field("numbers_category", "pair", 1, torch.int64, categories=9),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        slot, source, target = block.edges
        degree = block.degree
        adjacency = block.adjacency
        return self._values(adjacency, degree, slot, source, target, block.n)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        adjacency = torch.from_numpy(graph.adjacency.toarray())[None]
        source, target = (torch.from_numpy(ends) for ends in graph.edges)
        slot = torch.zeros_like(source)
        return self._values(adjacency, adjacency.sum(-1), slot, source, target, graph.n)

    def _values(self, adjacency, degree, slot, source, target, n) -> tuple[Tensor, ...]:
        nodes = torch.stack([degree, degree**2], dim=-1)
        square = adjacency @ adjacency
        return (
            nodes,
            (2 * degree[slot, source] + 3 * degree[slot, target])[:, None],
            torch.stack([adjacency, square + 1], dim=-1),
            torch.stack([degree.sum(-1), torch.full_like(degree.sum(-1), n)], dim=-1),
            (adjacency > 0)[..., None],
        )
