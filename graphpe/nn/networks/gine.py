"""A message passing network: the control for graph transformers."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import Normalization, check_positive, mlp
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.layers import GINELayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import Encodings, GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class GINE(GraphNetwork):
    """A message passing network of residual GIN layers with edge features.

    See :class:`~graphpe.nn.layers.GINELayer` for the layer. The head has three linear layers,
    that of pairs ``pair_layers``. Defaults are the base of
    the published SPE network on ZINC; without encoder that has ``hidden_channels=200``.

    Args:
        features: What the dataset offers.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes.
        num_layers: Number of layers.
        norm: Normalisation in the perceptrons of the layers and the head.
        dropout: Probability of dropout.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of pairs, see :class:`~graphpe.nn.heads.PairHead`.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, which each
            layer maps and adds to its vectors of edges, or multiplies them by; and of pairs, which the head of pairs
            reads.

    References:
        Hu et al., "Strategies for Pre-training Graph Neural Networks", https://arxiv.org/abs/1905.12265;
        Huang et al., "On the Stability of Expressive Positional Encodings for Graphs",
        https://arxiv.org/abs/2310.02579.
    """

    reads_edge_encodings: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 128,
        num_layers: int = 4,
        norm: Normalization = "batch",
        dropout: float = 0.0,
        level: TaskLevel = "graph",
        readout: ReadoutKind = "mean",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        super().__init__(
            features,
            out_channels,
            hidden_channels,
            level,
            readout,
            pair_layers,
            positional_encoders,
            head=lambda: mlp([hidden_channels] * 3 + [out_channels], norm),
        )
        self.layers = nn.ModuleList(
            GINELayer(
                features,
                hidden_channels,
                norm,
                dropout,
                self.encoding_channels("edge", "add"),
                self.encoding_channels("edge", "gate"),
            )
            for _ in range(num_layers)
        )

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        for layer in self.layers:
            x = layer(x, data, encodings.added_to_edges, encodings.edge_gates)
        return x
