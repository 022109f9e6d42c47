"""The graph transformer (GT) of Dwivedi and Bresson."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.nn.attention.sparse import SoftmaxKind
from graphpe.nn.blocks import check_positive, halving_mlp
from graphpe.nn.edge_encodings import EdgeEncodings
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.nn.layers import GraphTransformerLayer
from graphpe.nn.layout import GraphLayout, node_pairs
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class GraphTransformer(GraphNetwork):
    """The graph transformer (GT): attention along edges or between all nodes of a graph.

    See :class:`~graphpe.nn.layers.GraphTransformerLayer` for the layer. The head halves the width twice, then maps to
    the output; that of pairs has ``pair_layers``. Defaults are the published ZINC network (588,929 parameters with
    eight eigenvectors through an :class:`~graphpe.nn.EigenvectorEncoder`).

    The edges that come out of the last layer are not used. Its edge update has parameters all the same, as published;
    they are frozen, so that distributed training doesn't wait for their gradients.

    Args:
        features: What the dataset offers; without edge features and encoders of edges the layers have no edge vectors.
        out_channels: Number of outputs per row.
        hidden_channels: Width of nodes and edges; at least 4.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        attention: ``"sparse"``: a node attends to its in-neighbours. ``"full"``: a node attends to all other nodes of
            its graph; the edges are not used, and where the dataset has edge features all pairs start from
            ``edge_attr`` 0, as published. Encodings of pairs are then what the layers know of pairs.
        norm: ``"batch"`` or ``"layer"``.
        dropout: Probability of dropout.
        softmax: ``"clamp"``: of logits that are clamped to ±5, as published. ``"max"``: of the logits as they are, with
            their maximum subtracted before exp, so that a weight may be as large as it takes.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of pairs, see :class:`~graphpe.nn.heads.PairHead`.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, with sparse
            attention, which are mapped and added to the vectors of edges that the first layer reads, or multiply
            them; and of pairs (i, j), with full attention, which are mapped and added to the vector by which node i
            attends to node j in the first layer. The head of pairs reads encodings of pairs as well.

    References:
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

    attends_to_pairs: ClassVar[bool] = True
    reads_edge_encodings: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 10,
        heads: int = 8,
        attention: Literal["sparse", "full"] = "sparse",
        norm: Literal["batch", "layer"] = "batch",
        dropout: float = 0.0,
        softmax: SoftmaxKind = "clamp",
        level: TaskLevel = "graph",
        readout: ReadoutKind = "mean",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        require_choice("attention", attention, ("sparse", "full"))
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
        self.attention = attention
        self._check_encoders()
        if attention == "full":
            added, gates = self.encoding_channels("pair", "add"), []
        else:
            added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        embeds = has_edge_features(features)
        self.edge_embedding = (
            FeatureEmbedding(features, hidden_channels, "edge") if embeds else None
        )
        self.edge_encodings = EdgeEncodings(hidden_channels, added, gates)
        edges = embeds or bool(added or gates)
        self.layers = nn.ModuleList(
            GraphTransformerLayer(hidden_channels, heads, edges, norm, dropout, softmax)
            for _ in range(num_layers)
        )
        if edges:
            self.layers[-1].edge_update.requires_grad_(False)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        edge_index, edge = self._edges(data, layout, encodings)
        for layer in self.layers:
            x, edge = layer(x, edge_index, edge, update_edges=layer is not self.layers[-1])
        return x

    def _check_encoders(self) -> None:
        """Refuses encoders that neither this kind of attention nor the head reads."""
        unread, other, networks = "pair", "full", "GPS, GRIT, Graphormer"
        if self.attention == "full":
            unread, other, networks = "edge", "sparse", "GPS, GINE"
        for encoder in self.positional_encoders:
            if encoder.level == unread and self.level != unread:
                raise ValueError(
                    f"{type(encoder).__name__} encodes {unread}s, but a GraphTransformer with "
                    f"attention={self.attention!r} doesn't use them; take attention={other!r}, level {unread!r}, "
                    f"{networks}, or an encoder of nodes"
                )

    def _edges(
        self, data: Data, layout: GraphLayout, encodings: Encodings
    ) -> tuple[Tensor, Tensor | None]:
        """Who attends to whom, ``[2, E]``, and the vectors of these edges, if there are any."""
        embed = self.edge_embedding
        if self.attention == "sparse":
            edge = None if embed is None else embed(data)
            edge = self.edge_encodings(edge, encodings.added_to_edges, encodings.edge_gates)
            return data.edge_index, edge
        pairs = node_pairs(layout)
        different = pairs.source != pairs.target
        # Pair (i, j) describes j as i sees it, so that i attends to j by it.
        edge_index = torch.stack([pairs.target[different], pairs.source[different]])
        edge = None if embed is None else embed.zeros(edge_index.size(1))
        return edge_index, self.edge_encodings(
            edge, [rows[different] for rows in encodings.pairs], ()
        )
