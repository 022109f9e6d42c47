"""The graph transformer (GT) of Dwivedi and Bresson."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.nn.layers import GraphTransformerLayer
from graphpe.nn.layout import GraphLayout, node_pairs
from graphpe.nn.network import GraphNetwork
from graphpe.nn.readout import Readout, ReadoutKind
from graphpe.tasks import Features, TaskLevel


class GraphTransformer(GraphNetwork):
    """The graph transformer (GT): attention along edges or between all nodes of a graph.

    See :class:`~graphpe.nn.layers.GraphTransformerLayer` for the layer. The head halves the width twice, then maps to
    the output; that of pairs has ``pair_layers``. Defaults are the published ZINC network (588,929 parameters with
    eight eigenvectors through an :class:`~graphpe.nn.EigenvectorEncoder`).

    The edges that come out of the last layer are not used. Its edge update has parameters all the same, as published;
    they are frozen, so that distributed training doesn't wait for their gradients.

    Args:
        features: What the dataset offers; without edge features the layers have no edge vectors.
        out_channels: Number of outputs per row.
        hidden_channels: Width of nodes and edges; at least 4.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        attention: ``"sparse"``: a node attends to its in-neighbours. ``"full"``: a node attends to all other nodes of
            its graph; the edges are not used, and where the dataset has edge features all pairs start from
            ``edge_attr`` 0, as published.
        norm: ``"batch"`` or ``"layer"``.
        dropout: Probability of dropout.
        level: What a row of the output describes: a graph, a node, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs and pairs.
        pair_layers: Number of linear layers of the head of pairs, see :class:`~graphpe.nn.heads.PairHead`.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes, and of pairs, which the
            head of pairs reads.

    References:
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

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
            Readout(readout),
            pair_layers,
            positional_encoders,
            head=lambda: _halving_mlp(hidden_channels, out_channels),
        )
        if attention not in ("sparse", "full"):
            raise ValueError(f"attention is {attention!r}; it must be 'sparse' or 'full'")
        self.attention = attention
        edges = has_edge_features(features)
        self.edge_embedding = FeatureEmbedding(features, hidden_channels, "edge") if edges else None
        self.layers = nn.ModuleList(
            GraphTransformerLayer(hidden_channels, heads, edges, norm, dropout)
            for _ in range(num_layers)
        )
        if edges:
            self.layers[-1].edge_update.requires_grad_(False)

    def propagate(
        self, x: Tensor, data: Data, layout: GraphLayout, pair_encodings: list[Tensor]
    ) -> Tensor:
        edge_index, edge = self._edges(data, layout)
        for layer in self.layers:
            x, edge = layer(x, edge_index, edge, update_edges=layer is not self.layers[-1])
        return x

    def _edges(self, data: Data, layout: GraphLayout) -> tuple[Tensor, Tensor | None]:
        """Who attends to whom, ``[2, E]``, and the vectors of these edges, if there are any."""
        embed = self.edge_embedding
        if self.attention == "sparse":
            return data.edge_index, None if embed is None else embed(data)
        edge_index = _all_others(layout)
        return edge_index, None if embed is None else embed.zeros(edge_index.size(1))


def _all_others(layout: GraphLayout) -> Tensor:
    """All ordered pairs of different nodes of the same graph, ``[2, Σ n (n - 1)]``."""
    pairs = node_pairs(layout)
    different = pairs.source != pairs.target
    return torch.stack([pairs.source[different], pairs.target[different]])


def _halving_mlp(channels: int, out_channels: int) -> nn.Module:
    if channels < 4:
        raise ValueError(
            f"hidden_channels is {channels}; it must be at least 4, since the head quarters it"
        )
    return nn.Sequential(
        nn.Linear(channels, channels // 2),
        nn.ReLU(),
        nn.Linear(channels // 2, channels // 4),
        nn.ReLU(),
        nn.Linear(channels // 4, out_channels),
    )
