"""Positions as a random subset of a longer range, so that large graphs have no unseen ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.sequence.node_order import (
    LARGEST_MAXIMUM,
    NodeOrder,
    random_positions,
    require_node_order,
)


@dataclass(frozen=True, repr=False)
class AddOrderedSubsetPE(Encoding):
    r"""Adds node positions drawn as a sorted random subset of a range much longer than any graph.

    The positions :math:`1, \ldots, m` of the nodes in an order become :math:`r_1 < \ldots < r_m`, a random subset of
    :math:`1, \ldots, N` in which each subset is equally likely. A network trained on small graphs has then seen all
    positions that a large one has. The order is

    - ``"given"``: by node number (:math:`m = n`),
    - ``"topological"``: by topological generation, the number of edges on the longest path from a node without incoming
      ones; nodes of a generation share a position, and so do those of a cycle (generations are those of the
      condensation).

    The subset is a function of the seed and the graph (node numbers, edges, weights), so that neither a batch nor the
    order of graphs or edges changes it. The paper draws a new one for each training step: take
    ``dataclasses.replace(encoding, seed=epoch)`` as the transform of an epoch.

    Writes:
        ``attr_name``: ``[n, 1]`` int64, :math:`r - 1`, from 0 to ``maximum - 1``; categories for an embedding (node
        level). `AddSinusoidalPE` with the same ``maximum`` writes sinusoids of the same positions.

    Args:
        maximum: Length N of the range.
        attr_name: Name of the field; None concatenates it to ``x``.
        order: ``"given"`` or ``"topological"``.
        seed: From 0 to 2^63 - 1.
        dtype: Of no effect: positions are integers.
        dense_limit: Of no effect on the values.

    Raises:
        ValueError: If a graph has more than ``maximum`` positions; the message names the graph.

    References:
        Ruoss et al., "Randomized Positional Encodings Boost Length Generalization of Transformers",
        https://arxiv.org/abs/2305.16843.
    """

    maximum: int
    attr_name: str | None = "ordered_subset_pe"
    order: NodeOrder = "given"
    seed: int = 0

    cost: ClassVar[str] = "O(n log n)"
    paper: ClassVar[str] = "Ruoss et al. 2023"

    def __post_init__(self) -> None:
        require_positive_integer("maximum", self.maximum, LARGEST_MAXIMUM)
        require_node_order("order", self.order)
        require_seed("seed", self.seed)
        super().__post_init__()

    @property
    def is_equivariant(self) -> bool:
        return False  # the draw changes with the numbering of the nodes

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 1, torch.int64, categories=self.maximum),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (random_positions(block, self.order, self.maximum, self.seed).unsqueeze(-1),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (random_positions(graph, self.order, self.maximum, self.seed).unsqueeze(-1),)
