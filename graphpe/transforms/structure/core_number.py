"""Core numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.fields import Field
from graphpe.linalg.structure.cores import core_numbers
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.simple_graph import by_graph, simple_neighbors


@dataclass(frozen=True, repr=False)
class AddCoreNumberSE(UndirectedEncoding):
    r"""Adds the core number of each node: the largest k for which it is in a k-core.

    .. math:: k_i = \max \{ k : i \in S,\ \deg_{G[S]}(j) \ge k \ \forall j \in S \}

    A k-core is a largest subgraph in which all nodes have degree k or more. Isolated nodes have 0, trees 1, cycles 2.
    Self-loops, parallel edges and weights do not count.

    Writes:
        ``attr_name``: ``[n, 1]`` core numbers (node level).

    Args:
        attr_name: Name of the field; None concatenates it to ``x``.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done in sparse form.

    Raises:
        ValueError: For invalid weights or node numbers, or a directed graph with ``directed="error"``; the message
            names the graph.

    References:
        Seidman, "Network structure and minimum degree", Social Networks 5 (1983).
    """

    attr_name: str | None = "core_number_se"

    cost: ClassVar[str] = "O(n²) per graph; sparse: O(e)"
    paper: ClassVar[str] = "Seidman 1983"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (by_graph(core_numbers(simple_neighbors(block)), block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (by_graph(core_numbers(simple_neighbors(graph)), graph),)
