"""What the encoders of a network say of a batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Encodings:
    """What the encoders of a network say of a batch, but for what is added to nodes.

    Args:
        pairs: ``[P, width]`` each encoding of pairs.
        added_to_edges: ``[E, width]`` each encoding that is added to the vectors of edges.
        edge_gates: ``[E, width]`` each encoding that the vectors of edges are multiplied by.
        angles: ``[N, hidden_channels / 2]`` each encoding by which attention rotates queries and keys.
    """

    pairs: list[Tensor] = field(default_factory=list)
    added_to_edges: list[Tensor] = field(default_factory=list)
    edge_gates: list[Tensor] = field(default_factory=list)
    angles: list[Tensor] = field(default_factory=list)
