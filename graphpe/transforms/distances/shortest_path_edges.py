"""The edges on the way from each node to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.distances.shortest_path_edges import shortest_path_edges
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.lengths import hop_distances


@dataclass(frozen=True, repr=False)
class AddShortestPathEdgePE(Encoding):
    r"""Adds the positions of the first edges on one shortest path from each node to each other.

    For a path :math:`i = v_0 \to v_1 \to \cdots \to v_d = j` of fewest edges, column :math:`t` holds the position in
    the edge list of the graph (its column of ``edge_index``) of the edge :math:`v_t \to v_{t+1}`, so that a network
    can gather the features of the edges along the path. Behind the end of a path, and where none leads, it is −1.
    In a batch the positions still count from the first edge of their own graph.

    Of several edges that lead closer to :math:`j`, parallel ones among them, the path takes the one with the lowest
    position. So the choice depends on the order in which edges are stored, not on the numbers of the nodes. Paths
    follow directed edges; weights change nothing, but an edge of weight 0 is no edge.

    Writes:
        ``attr_name``: ``[n * n, max_distance]`` int64 positions of edges, or −1 (pair level).

    Args:
        max_distance: Number of edges of a path that are given. Graphormer takes 5.
        attr_name: Name of the field.
        dtype: Not used: positions are integers.
        dense_limit: Of no effect: paths of all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", https://arxiv.org/abs/2106.05234.
    """

    max_distance: int = 5
    attr_name: str | None = "shortest_path_edge_pe"

    cost: ClassVar[str] = "O(n³ + n e + n² m) per graph"
    paper: ClassVar[str] = "Ying et al. 2021"
    sparse_alternative: ClassVar[str] = "take AddLandmarkDistancePE instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("max_distance", self.max_distance)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", self.max_distance, torch.int64, padding=-1),)

    @property
    def is_equivariant(self) -> bool:
        return False  # values are positions in the list of edges

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        slot, column = block.graphs.edges_of(block.numbers)
        source, target = block.graphs.edge_index[:, column].long()
        position = column - block.graphs.edge_start.to(column.device)[block.numbers][slot]
        if block.graphs.edge_weight is not None:
            is_edge = block.graphs.edge_weight[column] > 0
            slot, position = slot[is_edge], position[is_edge]
            source, target = source[is_edge], target[is_edge]
        distance = block.shared(hop_distances)
        edges = shortest_path_edges(distance, slot, source, target, position, self.max_distance)
        return (edges,)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 8 * n * n  # distances, and where paths are
