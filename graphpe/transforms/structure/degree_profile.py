"""The degrees around each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.fields import Field
from graphpe.linalg.structure.degree_profile import local_degree_profile
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.simple_graph import by_graph, simple_neighbors


@dataclass(frozen=True, repr=False)
class AddLocalDegreeProfileSE(UndirectedEncoding):
    r"""Adds the degree of each node, and the least, largest, mean and standard deviation of its neighbours' degrees.

    .. math:: (d_i, \min_{j \sim i} d_j, \max_{j \sim i} d_j, \operatorname{mean}_{j \sim i} d_j,
        \operatorname{std}_{j \sim i} d_j)

    The standard deviation is that of the population (divided by :math:`d_i`), as in the paper and in
    ``torch_geometric.transforms.LocalDegreeProfile``, with which it agrees on simple graphs. An isolated node has
    zeros. Degrees are numbers of neighbours: self-loops, parallel edges and weights do not count (in PyG the first two
    do).

    Writes:
        ``attr_name``: ``[n, 5]`` (node level).

    Args:
        attr_name: Name of the field; None concatenates it to ``x``.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done in sparse form.

    Raises:
        ValueError: For invalid weights or node numbers, or a directed graph with ``directed="error"``; the message
            names the graph.

    References:
        Cai and Wang, "A simple yet effective baseline for non-attributed graph classification",
        https://arxiv.org/abs/1811.03508.
    """

    attr_name: str | None = "local_degree_profile_se"

    cost: ClassVar[str] = "O(n²) per graph; sparse: O(e)"
    paper: ClassVar[str] = "Cai and Wang 2018"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 5, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (by_graph(local_degree_profile(simple_neighbors(block)), block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (by_graph(local_degree_profile(simple_neighbors(graph)), graph),)
