"""Colours of the Weisfeiler-Leman algorithm."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.structure.colors import weisfeiler_leman_colors
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.simple_graph import by_graph, simple_neighbors


@dataclass(frozen=True, repr=False)
class AddWeisfeilerLemanSE(UndirectedEncoding):
    r"""Adds the colour of each node after some rounds of Weisfeiler-Leman colour refinement, as a category.

    .. math:: c^0_i = 0, \qquad c^{r+1}_i = \operatorname{hash}\bigl(c^r_i, \{\!\{ c^r_j : j \sim i \}\!\}\bigr)

    The colour is a fixed 64-bit hash of what the node sees within ``rounds`` hops (its unfolding tree), so that it
    depends neither on the numbering of nodes, nor on the other graphs of a batch or dataset, nor on the process:
    a colour seen in training is the same category in testing. It is folded into ``categories`` buckets. If a dataset
    has D colours, a given one of them shares its bucket with another with probability :math:`1 - e^{-D/categories}`.
    10,000 molecules of ZINC have 59, 1,440 and 14,128 colours after 2, 3 and 4 rounds, so 0.1 %, 2 % and 19 % of them
    share one of 2¹⁶ buckets. Self-loops, parallel edges, weights and node features do not count.

    Writes:
        ``attr_name``: ``[n, 1]`` colours, int64 (node level).

    Args:
        rounds: Number of rounds r; 1 tells degrees apart, 2 the degrees of neighbours.
        categories: Number of buckets (rows of an embedding table); None writes the 64-bit hash itself, which no
            embedding can take, for comparing nodes and graphs.
        attr_name: Name of the field; None concatenates it to ``x``.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Not used: the field is int64.
        dense_limit: Graphs with more nodes are done in sparse form.

    Raises:
        ValueError: For invalid weights or node numbers, or a directed graph with ``directed="error"``; the message
            names the graph.

    References:
        Shervashidze et al., "Weisfeiler-Lehman graph kernels", JMLR 12 (2011). As an encoding: Zhang et al.,
        "Graph-Bert", https://arxiv.org/abs/2001.05140 (which numbers the colours anew in each graph).
    """

    rounds: int
    categories: int | None = 2**16
    attr_name: str | None = "weisfeiler_leman_se"

    cost: ClassVar[str] = "O(n² + e r) per graph; sparse: O(e r)"
    paper: ClassVar[str] = "Shervashidze et al. 2011"

    def __post_init__(self) -> None:
        require_positive_integer("rounds", self.rounds)
        if self.categories is not None:
            require_positive_integer("categories", self.categories)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(
                self.field_name,
                "node",
                1,
                torch.int64,
                categories=None if self.categories is None else operator.index(self.categories),
            ),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (self._colors(block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (self._colors(graph),)

    def _colors(self, part: Block | LargeGraph) -> Tensor:
        colors = weisfeiler_leman_colors(simple_neighbors(part), self.rounds)
        if self.categories is not None:
            colors = colors.remainder(self.categories)
        return by_graph(colors, part)
