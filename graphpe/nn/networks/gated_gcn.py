"""The gated graph network of published benchmarks: a message passing control with vectors of edges."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import Normalization, check_positive, halving_mlp
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.layers import GatedGCNLayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class GatedGCN(GraphNetwork):
    """A message passing network of gated graph convolutions, which update nodes and edges.

    See :class:`~graphpe.nn.layers.GatedGCNLayer` for the layer. The head halves the width twice, then maps to the
    output; that of pairs has ``pair_layers``. Defaults are the published ZINC network with edge features (504,309
    parameters; 505,011 with eight eigenvectors through an :class:`~graphpe.nn.EigenvectorEncoder`).

    The edges that come out of the last layer are not used. Their normalisation has parameters all the same, as
    published; they are frozen, so that distributed training doesn't wait for their gradients.

    Args:
        features: What the dataset offers; without edge features and encoders of edges all edges start alike.
        out_channels: Number of outputs per row.
        hidden_channels: Width of nodes and edges; at least 4.
        num_layers: Number of layers.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropout of the nodes and edges that a layer returns.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, which are mapped
            and added to the vectors of edges that the first layer reads, or multiply them; and of pairs, which the
            head of pairs reads.

    References:
        Bresson and Laurent, "Residual Gated Graph ConvNets", https://arxiv.org/abs/1711.07553;
        Dwivedi et al., "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982.
    """

    reads_edge_encodings: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 78,
        num_layers: int = 16,
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
            head=lambda: halving_mlp(hidden_channels, out_channels),
        )
        added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        self.edge_vectors = EdgeVectors(features, hidden_channels, added, gates)
        self.layers = nn.ModuleList(
            GatedGCNLayer(hidden_channels, norm, dropout) for _ in range(num_layers)
        )
        self.layers[-1].edge_norm.requires_grad_(False)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        edge = self.edge_vectors(data, encodings)
        for layer in self.layers:
            x, edge = layer(x, data.edge_index, edge, update_edges=layer is not self.layers[-1])
        return x
