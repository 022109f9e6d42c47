"""`Sizes`: how large the graphs of a dataset are, and where their rows lie."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphpe.fields import Field
from graphpe.ragged import offsets_of


class Sizes:
    """How large each graph of a dataset is.

    Args:
        num_nodes: int64 ``[graphs]``.
        num_edges: int64 ``[graphs]``.
    """

    def __init__(self, num_nodes: Tensor, num_edges: Tensor) -> None:
        self.num_nodes = num_nodes
        self.num_edges = num_edges
        self._rows: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return len(self.num_nodes)

    def rows(self, level: str) -> Tensor:
        """``[graphs + 1]`` offsets of the graphs in a field of a level."""
        if level not in self._rows:
            counts = {
                "node": self.num_nodes,
                "edge": self.num_edges,
                "pair": self.num_nodes**2,
                "graph": torch.ones_like(self.num_nodes),
            }
            self._rows[level] = offsets_of(counts[level])
        return self._rows[level]

    def bytes_of(self, fields: Sequence[Field]) -> Tensor:
        """``[graphs + 1]`` offsets in bytes of the graphs in all fields of an encoding."""
        total = torch.zeros(len(self) + 1, dtype=torch.long)
        for field in fields:
            total += self.rows(field.level) * field.width * field.dtype.itemsize
        return total
