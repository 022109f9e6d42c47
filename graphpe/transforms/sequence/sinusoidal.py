"""Sinusoids of the positions of nodes."""

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
    node_positions,
    random_positions,
    require_node_order,
)

_WAVELENGTH_RATIO = 10_000.0


@dataclass(frozen=True, repr=False)
class AddSinusoidalPE(Encoding):
    r"""Adds sines and cosines of the position of each node in an order, as transformers of sequences have them.

    .. math:: p_{2i} = \sin(r / 10000^{2i/d}), \qquad p_{2i+1} = \cos(r / 10000^{2i/d})

    with d channels and :math:`r = 0, 1, \ldots` the position in

    - ``"given"``: the order of node numbers,
    - ``"topological"``: the topological generations, that is the number of edges on the longest path from a node
      without incoming ones; nodes of a generation share a position, and so do those of a cycle (generations are those
      of the condensation).

    With ``maximum`` the positions are those of `AddOrderedSubsetPE`: a sorted random subset of 0 to ``maximum - 1``,
    for size generalisation.

    Writes:
        ``attr_name``: ``[n, channels]`` (node level).

    Args:
        channels: Number d of channels, even.
        attr_name: Name of the field; None concatenates it to ``x``.
        order: ``"given"`` or ``"topological"``.
        maximum: Length of the range of random positions; None for the positions themselves.
        seed: Of the random positions; from 0 to 2^63 - 1.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect on the values.

    Raises:
        ValueError: If a graph has more than ``maximum`` positions; the message names the graph.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762.
    """

    channels: int
    attr_name: str | None = "sinusoidal_pe"
    order: NodeOrder = "given"
    maximum: int | None = None
    seed: int = 0

    cost: ClassVar[str] = "O(n · channels)"
    paper: ClassVar[str] = "Vaswani et al. 2017"

    def __post_init__(self) -> None:
        require_positive_integer("channels", self.channels)
        if self.channels % 2:
            raise ValueError(
                f"channels is {self.channels}; it must be even, for pairs of sine and cosine"
            )
        require_node_order("order", self.order)
        if self.maximum is not None:
            require_positive_integer("maximum", self.maximum, LARGEST_MAXIMUM)
        require_seed("seed", self.seed)
        super().__post_init__()

    @property
    def is_equivariant(self) -> bool:
        return self.order != "given" and self.maximum is None

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", self.channels, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (self._sinusoids(block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (self._sinusoids(graph),)

    def _sinusoids(self, part: Block | LargeGraph) -> Tensor:
        if self.maximum is None:
            positions = node_positions(part, self.order)
        else:
            positions = random_positions(part, self.order, self.maximum, self.seed)
        return sinusoids(positions, self.channels)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + n * self.channels  # angles, and their sines and cosines


def sinusoids(positions: Tensor, channels: int) -> Tensor:
    """``[b, n, channels]`` float64: sine and cosine, in turn, of ``positions [b, n]`` at each frequency."""
    exponent = torch.arange(0, channels, 2, dtype=torch.float64) / channels
    wavelength = (_WAVELENGTH_RATIO**exponent).to(positions.device)
    angle = positions.double().unsqueeze(-1) / wavelength
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(2)
