"""Ragged columns of the nodes of a batch: eigenvectors, eigenspaces or samples, as many as each graph has."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from graphpe.nn.layout import GraphLayout
from graphpe.ragged import offsets_of, ragged_arange


@dataclass(frozen=True)
class NodeColumns:
    """The rows (i, l) of all nodes i and the columns l of the graph of i, row-major.

    The columns of a node i lie together: they are the rows ``start[i]`` to ``start[i] + counts[g]``, where g is the
    graph of i. As :class:`~graphpe.nn.layout.NodePairs` they can be given to
    :class:`~graphpe.nn.pairs.pair_networks.PairGIN`, which then passes messages between the nodes of a graph, for each
    column by itself.

    Args:
        source: ``[R]`` node i of each row.
        column: ``[R]`` column l of each row, from 0.
        start: ``[N]`` first row of each node.
        counts: ``[N]`` number of columns of each node.
    """

    source: Tensor
    column: Tensor
    start: Tensor
    counts: Tensor

    def __len__(self) -> int:
        return self.source.numel()


def node_columns(layout: GraphLayout, counts: Tensor) -> NodeColumns:
    """Lists the columns of all nodes, without padding.

    Args:
        layout: Where the graphs lie.
        counts: ``[B]`` number of columns of each graph.

    Returns:
        Σ n_g counts_g rows.
    """
    per_node = counts[layout.batch]
    source, column = ragged_arange(per_node)
    return NodeColumns(source, column, offsets_of(per_node)[:-1], per_node)
