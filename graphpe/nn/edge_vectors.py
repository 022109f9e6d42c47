"""The vectors of edges that a network starts from."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.edge_encodings import EdgeEncodings
from graphpe.nn.encodings import Encodings
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.tasks import Features


class EdgeVectors(nn.Module):
    """Embeds ``edge_attr`` and lets encodings of edges enter it; if there is neither, all edges are one learned vector.

    Args:
        features: What the dataset offers.
        channels: Width of the vectors.
        added_channels: Width of each encoding that is added, see :class:`~graphpe.nn.EdgeEncodings`.
        gate_channels: Width of each encoding that multiplies.
    """

    def __init__(
        self,
        features: Features,
        channels: int,
        added_channels: Sequence[int] = (),
        gate_channels: Sequence[int] = (),
    ) -> None:
        super().__init__()
        embeds = has_edge_features(features)
        self.embedding = FeatureEmbedding(features, channels, "edge") if embeds else None
        self.encodings = EdgeEncodings(channels, added_channels, gate_channels)
        needs_constant = not (embeds or added_channels or gate_channels)
        self.constant = nn.Parameter(torch.randn(channels)) if needs_constant else None

    def forward(self, data: Data, encodings: Encodings) -> Tensor:
        """Makes the vectors.

        Args:
            data: The batch.
            encodings: What the encoders of the network say.

        Returns:
            ``[E, channels]``.
        """
        if self.constant is not None:
            return self.constant.expand(data.edge_index.size(1), -1)
        edge = None if self.embedding is None else self.embedding(data)
        return self.encodings(edge, encodings.added_to_edges, encodings.edge_gates)
