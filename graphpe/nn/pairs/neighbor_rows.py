"""Rows (i, j) of nodes i and columns j, and the rows (u, j) of the neighbours u of i."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn

from graphpe.ragged import offsets_of, ragged_arange


class NodeRows(Protocol):
    """Rows (i, j) of nodes i and columns j, such as all pairs of nodes of the same graph.

    The rows of a node lie together, in the order of the columns, and all nodes of a graph have the same columns.
    """

    @property
    def source(self) -> Tensor:
        """``[P]`` node i of each row."""

    @property
    def start(self) -> Tensor:
        """``[N]`` first row of each node."""


@dataclass(frozen=True)
class RowSets:
    """A set of rows for each row, one after the other: set r is ``rows[offsets[r] : offsets[r + 1]]``."""

    rows: Tensor
    offsets: Tensor

    def sum(self, x: Tensor) -> Tensor:
        """Sums the rows of each set of ``[P, c]``, without a copy of the rows."""
        return nn.functional.embedding_bag(
            self.rows, x, self.offsets, mode="sum", include_last_offset=True
        )

    def reordered(self, order: Tensor, position: Tensor) -> RowSets:
        """The sets of the same rows in another order.

        Args:
            order: ``[P]`` the row that comes first, second, ...
            position: ``[P]`` the place of each row in that order.
        """
        counts = self.offsets.diff()[order]
        row, number = ragged_arange(counts)
        return RowSets(position[self.rows[self.offsets[order[row]] + number]], offsets_of(counts))

    def split(self, bounds: list[int]) -> list[RowSets]:
        """The sets of each range of rows, whose numbers then count from the first of the range.

        Args:
            bounds: First row of each range, and P. No set has rows of another range than its own.
        """
        ends = self.offsets[bounds].tolist()
        return [
            RowSets(self.rows[begin:end] - first, self.offsets[first : last + 1] - begin)
            for (first, last), (begin, end) in zip(pairwise(bounds), pairwise(ends), strict=True)
        ]


def neighbor_rows(pairs: NodeRows, node: Tensor, neighbor: Tensor) -> RowSets:
    """Lists, for each pair (i, j), the rows of the pairs (u, j) of all edges that join i and u.

    Args:
        pairs: The pairs.
        node: ``[E]`` the end i of each edge.
        neighbor: ``[E]`` the other end u of each edge.
    """
    by_node = torch.argsort(node, stable=True)
    degree = torch.bincount(node, minlength=len(pairs.start))
    counts = degree[pairs.source]
    row, position = ragged_arange(counts)
    end = pairs.source[row]
    edge = by_node[offsets_of(degree)[end] + position]
    column = row - pairs.start[end]
    return RowSets(pairs.start[neighbor[edge]] + column, offsets_of(counts))
