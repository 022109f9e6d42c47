"""Lists of neighbours of simple undirected graphs: one large graph, or many small ones side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import scipy.sparse
import torch
from torch import Tensor

from graphpe.ragged import offsets_of, ragged_arange


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of N nodes, in compressed rows.

    A stack of graphs is one graph without edges between them, so a kernel that takes neighbours does all graphs of a
    stack at once, in time and memory proportional to their edges.

    Args:
        source: ``[E]`` int64, ascending.
        target: ``[E]`` int64, ascending for each source; every edge is there in both directions, none twice.
        num_nodes: N.
    """

    source: Tensor
    target: Tensor
    num_nodes: int

    @classmethod
    def of_stack(cls, adjacency: Tensor) -> Neighbors:
        """The simple graphs of symmetric matrices ``[b, n, n]``: no loops, no weights; node i of graph g is g·n + i."""
        n = adjacency.shape[-1]
        graph, source, target = (adjacency > 0).nonzero(as_tuple=True)
        return cls._without_loops(graph * n + source, graph * n + target, len(adjacency) * n)

    @classmethod
    def of_sparse(cls, adjacency: scipy.sparse.csr_array) -> Neighbors:
        """The simple graph of a symmetric sparse matrix ``[n, n]``: no loops, no weights."""
        adjacency = adjacency.tocoo()  # of rows in order
        order = torch.from_numpy(adjacency.row.astype("int64") * adjacency.shape[0] + adjacency.col)
        order = order[torch.from_numpy(adjacency.data > 0)].sort().values
        n = max(1, adjacency.shape[0])
        return cls._without_loops(order // n, order % n, adjacency.shape[0])

    @classmethod
    def _without_loops(cls, source: Tensor, target: Tensor, num_nodes: int) -> Neighbors:
        proper = source != target
        return cls(source[proper], target[proper], num_nodes)

    @cached_property
    def degree(self) -> Tensor:
        """``[N]`` number of neighbours of each node, int64."""
        return torch.bincount(self.source, minlength=self.num_nodes)

    @cached_property
    def start(self) -> Tensor:
        """``[N + 1]`` where the neighbours of each node start in ``target``."""
        return offsets_of(self.degree)

    def of(self, nodes: Tensor) -> Tensor:
        """The neighbours of some nodes, one list after the other."""
        row, offset = ragged_arange(self.degree[nodes])
        return self.target[self.start[nodes][row] + offset]

    def sum(self, values: Tensor) -> Tensor:
        """Sum of the values ``[N]`` of each node's neighbours."""
        return values.new_zeros(self.num_nodes).index_add_(0, self.source, values[self.target])

    def within(self, chosen: Tensor) -> Neighbors:
        """The edges between chosen nodes, for a mask ``[N]``; the other nodes stay, isolated."""
        kept = chosen[self.source] & chosen[self.target]
        return Neighbors(self.source[kept], self.target[kept], self.num_nodes)
