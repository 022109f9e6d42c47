"""Splitting a sparse graph into its components, and the small ones into dense stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

SparseMatrix = sp.csr_array | sp.csr_matrix


class Components:
    """The components of a graph, the largest first, equally large ones by their first node.

    Args:
        matrix: ``[n, n]``; an entry is an edge.
        connection: ``"weak"``, or ``"strong"`` for strongly connected components.

    Attributes:
        nodes: ``[n]``, the nodes of one component after the other, ascending inside each.
        sizes: ``[c]``.
        starts: ``[c]``, where each begins in ``nodes``.
        matrix: The matrix with rows and columns in the order of ``nodes``, without the entries that
            join different (strong) components: block-diagonal.
    """

    def __init__(self, matrix: SparseMatrix, connection: Literal["weak", "strong"]) -> None:
        count, labels = csgraph.connected_components(matrix, connection=connection)
        sizes = np.bincount(labels, minlength=count)
        _, first_nodes = np.unique(labels, return_index=True)
        order = np.lexsort((first_nodes, -sizes))
        rank = np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)

        self.nodes = np.argsort(rank[labels], kind="stable")
        self.sizes = sizes[order]
        self.starts = np.cumsum(self.sizes) - self.sizes
        edges = matrix.tocoo()
        inside = labels[edges.row] == labels[edges.col]
        position = np.empty(len(labels), dtype=np.int32)
        position[self.nodes] = np.arange(len(labels), dtype=np.int32)
        self.matrix = sp.csr_array(
            (edges.data[inside], (position[edges.row[inside]], position[edges.col[inside]])),
            shape=matrix.shape,
        )

    def larger_than(self, limit: int) -> Iterator[tuple[slice, sp.csr_array]]:
        """Each component with more than ``limit`` nodes: its place in ``nodes`` and its matrix."""
        for start, size in zip(self.starts, self.sizes, strict=True):
            if size <= limit:
                return
            place = slice(start, start + size)
            yield place, self.matrix[place][:, place]

    def stacks(self, limit: int, entries: int) -> Iterator[tuple[slice, np.ndarray]]:
        """The components with at most ``limit`` nodes as dense stacks of equal size.

        Args:
            limit: Largest number of nodes.
            entries: Stacks are cut so as to have at most so many entries, but at least one matrix.

        Yields:
            The place in ``nodes`` of b components of size s, and their matrices ``[b, s, s]``.
        """
        first = np.searchsorted(-self.sizes, -limit)
        while first < len(self.sizes):
            size = int(self.sizes[first])
            equal = np.searchsorted(-self.sizes, -size, side="right") - first
            count = min(equal, max(1, entries // size**2))
            start = int(self.starts[first])
            place = slice(start, start + count * size)
            edges = self.matrix[place].tocoo()
            stack = np.zeros((count, size, size))
            stack.reshape(-1)[edges.row.astype(np.int64) * size + (edges.col - start) % size] = (
                edges.data
            )
            yield place, stack
            first += count
