"""Clustering coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.fields import Field
from graphpe.linalg.structure.triangles import sparse_triangles, triangles
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.simple_graph import (
    by_graph,
    simple_adjacency,
    simple_neighbors,
)


@dataclass(frozen=True, repr=False)
class AddClusteringCoefficientSE(UndirectedEncoding):
    r"""Adds the share of pairs of neighbours of each node that are neighbours of each other.

    .. math:: c_i = \frac{2 T_i}{d_i (d_i - 1)}

    with :math:`T_i` the number of triangles through i. It is 0 for nodes with fewer than two neighbours, as in
    networkx. Self-loops, parallel edges and weights do not count.

    Writes:
        ``attr_name``: ``[n, 1]`` clustering coefficients, from 0 to 1 (node level).

    Args:
        attr_name: Name of the field; None concatenates it to ``x``.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done in sparse form.

    Raises:
        ValueError: For invalid weights or node numbers, or a directed graph with ``directed="error"``; the message
            names the graph.

    References:
        Watts and Strogatz, "Collective dynamics of 'small-world' networks", Nature 393 (1998).
    """

    attr_name: str | None = "clustering_coefficient_se"

    cost: ClassVar[str] = "O(n³) per graph; sparse: O(Σ over edges of the smaller degree)"
    paper: ClassVar[str] = "Watts and Strogatz 1998"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        adjacency = simple_adjacency(block)
        return (_coefficient(triangles(adjacency), adjacency.sum(-1))[..., None],)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        neighbors = simple_neighbors(graph)
        coefficient = _coefficient(sparse_triangles(neighbors).double(), neighbors.degree.double())
        return (by_graph(coefficient, graph),)


def _coefficient(triangles: Tensor, degree: Tensor) -> Tensor:
    pairs = degree * (degree - 1) / 2
    return triangles / pairs.clamp(min=1)
