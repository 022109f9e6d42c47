"""A network without messages: the control that sees a graph only through its encodings."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import (
    Normalization,
    check_dropout,
    check_normalization,
    check_not_negative,
    check_positive,
    mlp,
)
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import Encodings, GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class NodeMLP(GraphNetwork):
    r"""Updates each node by itself: what it knows of the graph, it knows from encodings.

    Each layer is :math:`x_i \leftarrow x_i + \mathrm{MLP}(x_i)` with two linear layers. The head has three; that of
    pairs has ``pair_layers``. The published network for distances in directed graphs is
    ``NodeMLP(features, 1, 64, num_layers=0, level="pair", pair_layers=8)``.

    Args:
        features: What the dataset offers; edge features are not read.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes.
        num_layers: Number of layers; 0 leaves the embedded nodes as they are.
        norm: Normalisation in the perceptrons of the layers and the head.
        dropout: Probability of dropout of the output of each layer.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes, and of pairs, which the
            head of pairs reads.

    References:
        Huang et al., "What Are Good Positional Encodings for Directed Graphs?", https://arxiv.org/abs/2407.20912.
    """

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 0,
        norm: Normalization = "layer",
        dropout: float = 0.0,
        level: TaskLevel = "graph",
        readout: ReadoutKind = "mean",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(out_channels=out_channels, hidden_channels=hidden_channels)
        check_not_negative(num_layers=num_layers)
        check_normalization(norm)
        check_dropout(dropout)
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
            nn.Sequential(mlp([hidden_channels] * 3, norm), nn.Dropout(dropout))
            for _ in range(num_layers)
        )

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x
