"""A GIN layer with edge features."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINEConv

from graphpe.nn.blocks import Normalization, check_dropout, mlp
from graphpe.nn.edge_encodings import EdgeEncodings
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.tasks import Features


class GINELayer(nn.Module):
    r"""A residual GIN layer that adds edge features to messages.

    .. math::
        x_i \leftarrow x_i + \mathrm{MLP}\Big( (1 + \epsilon)\, x_i + \sum_{j \to i} \mathrm{ReLU}(x_j + e_{ij}) \Big)

    The perceptron has three linear layers; :math:`e_{ij}` is the layer's own embedding of ``edge_attr`` with the
    encodings of edges, see :class:`~graphpe.nn.EdgeEncodings`, and 0 if there are neither. As in the published
    networks, ε is learned and starts from N(0, 1).

    Args:
        features: What the dataset offers.
        channels: Width of the nodes.
        norm: Normalisation in the perceptron.
        dropout: Probability of dropout of the perceptron's output.
        added_channels: Width of each encoding that is added to the edges.
        gate_channels: Width of each encoding that the edges are multiplied by.

    References:
        Hu et al., "Strategies for Pre-training Graph Neural Networks", https://arxiv.org/abs/1905.12265;
        Huang et al., "On the Stability of Expressive Positional Encodings for Graphs",
        https://arxiv.org/abs/2310.02579.
    """

    def __init__(
        self,
        features: Features,
        channels: int,
        norm: Normalization = "batch",
        dropout: float = 0.0,
        added_channels: Sequence[int] = (),
        gate_channels: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.edge_embedding = (
            FeatureEmbedding(features, channels, "edge") if has_edge_features(features) else None
        )
        self.conv = GINEConv(mlp([channels] * 4, norm), train_eps=True)
        nn.init.normal_(self.conv.eps)
        self.dropout = nn.Dropout(dropout)
        self.edge_encodings = EdgeEncodings(channels, added_channels, gate_channels)

    def forward(
        self, x: Tensor, data: Data, added: Sequence[Tensor] = (), gates: Sequence[Tensor] = ()
    ) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[N, channels]`` nodes.
            data: The batch.
            added: ``[E, width]`` each encoding that is added to the edges.
            gates: ``[E, width]`` each encoding that the edges are multiplied by.

        Returns:
            ``[N, channels]``.
        """
        edge = None if self.edge_embedding is None else self.edge_embedding(data)
        edge = self.edge_encodings(edge, added, gates)
        if edge is None:
            edge = x.new_zeros(1, x.size(1))
        return x + self.dropout(self.conv(x, data.edge_index, edge))
