"""What all kinds of attention between the nodes of a graph have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask

from graphpe.nn.attention.flex import block_mask
from graphpe.nn.blocks import check_positive
from graphpe.nn.layout import GraphLayout
from graphpe.nn.stacks import Stacks


@dataclass(frozen=True)
class AttentionPlaces:
    """Where the rows of a batch lie, and what attention may know of them: made once per batch, for all layers.

    The rows are the N nodes, and after them a token of each graph if there are tokens.

    Args:
        layout: Where the graphs lie.
        tokens: Whether each graph has a token: that of graph g is row N + g.
        stacks: The rows in stacks, with their padding mask; None if no layer attends densely.
        pair_encodings: ``[P, width]`` each encoding of pairs.
        edge_index: ``[2, E]`` the edges; None if no layer looks at them.
        edge: ``[E, channels]`` vectors of edges, if there are any.
        angles: ``[R, channels / 2]`` by which queries and keys are rotated, head after head, if they are.
        token_pair: ``[c]`` the columns of all encodings of pairs for a pair with a token; None: 0.
    """

    layout: GraphLayout
    tokens: bool = False
    stacks: Stacks | None = None
    pair_encodings: Sequence[Tensor] = ()
    edge_index: Tensor | None = None
    edge: Tensor | None = None
    angles: Tensor | None = None
    token_pair: Tensor | None = None

    @property
    def graph(self) -> Tensor:
        """``[R]`` the graph of each row."""
        layout = self.layout
        if not self.tokens:
            return layout.batch
        own = torch.arange(layout.num_graphs, device=layout.batch.device)
        return torch.cat([layout.batch, own])

    @cached_property
    def pair_columns(self) -> Tensor:
        """``[P + 1, c]`` the c columns of all encodings of pairs; the last row is for pairs with a token."""
        columns = torch.cat(list(self.pair_encodings), dim=1)
        last = columns.new_zeros(columns.size(1)) if self.token_pair is None else self.token_pair
        return torch.cat([columns, last.to(columns.dtype)[None]])

    @cached_property
    def stacked_pairs(self) -> list[Tensor]:
        """``[g, c, w * w]`` of each stack: the same columns; those of padding have no influence."""
        gathered = [stack.gather_pairs(self.pair_columns) for stack in self.stacks.stacks]
        return [pairs.flatten(1, 2).mT.contiguous() for pairs in gathered]

    @cached_property
    def block_mask(self) -> BlockMask:
        """Which blocks of rows and columns hold pairs of the same graph, for the kernel ``"flex"``."""
        return block_mask(self.graph)


class GlobalAttention(nn.Module, ABC):
    """Attention between the nodes of each graph, with its linear layers; no residual, normalisation or dropout after.

    Attributes:
        takes_pair_bias: Whether encodings of pairs (i, j) bias the attention of i to j.
    """

    takes_pair_bias: ClassVar[bool] = False

    @abstractmethod
    def forward(self, x: Tensor, places: AttentionPlaces) -> Tensor:
        """Attends.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the places have them.
            places: Where the rows lie.

        Returns:
            ``[R, channels]``, already through the output layer.
        """


def check_heads(channels: int, heads: int) -> None:
    """Refuses sizes that are not positive integers, and heads that do not divide the channels."""
    check_positive(channels=channels, heads=heads)
    if channels % heads:
        raise ValueError(
            f"heads is {heads}, which does not divide the {channels} channels of the layer; "
            "choose a divisor of them (in a network, of hidden_channels)"
        )
