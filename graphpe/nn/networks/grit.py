"""GRIT: a graph transformer over all pairs of nodes, without message passing."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import check_positive, halving_mlp
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.layers import GRITLayer
from graphpe.nn.layout import GraphLayout, NodePairs, node_pairs
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class GRIT(GraphNetwork):
    r"""A graph transformer (GRIT) with vectors of nodes and of all pairs of nodes of a graph, which update each other.

    See :class:`~graphpe.nn.layers.GRITLayer` for the layer. The vector of a pair (i, j) starts from the encodings of
    pairs and, if there is an edge from i to j, its embedded features; parallel edges add up. Edges without features
    have one learned vector. The head halves the width twice, then maps to the output; that of pairs has
    ``pair_layers``. Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Defaults are the published ZINC network (473,473 parameters) with random walks of 21 steps
    (``AddRelativeRandomWalkPE(21)``) at nodes and pairs::

        positional_encoders=[
            DiagonalEncoder(21, 64),
            PairEncoder(21, 64, "relative_random_walk_pe", "AddRelativeRandomWalkPE", num_layers=1),
        ]

    The pairs that come out of the last layer are not used. Its update of pairs has parameters all the same, as
    published; they are frozen, so that distributed training doesn't wait for their gradients.

    Args:
        features: What the dataset offers.
        out_channels: Number of outputs per row.
        hidden_channels: Width of nodes and pairs; at least 4.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        norm: ``"batch"`` or ``"layer"``.
        dropout: Probability of dropout after attention and in feed-forward networks.
        attention_dropout: Probability of dropout of attention weights.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of pairs, see :class:`~graphpe.nn.heads.PairHead`.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of pairs, of width
            ``hidden_channels``, whose output is added to the vectors of pairs, and which the head of pairs reads as
            well; and of edges, which are mapped and added to the embedded features of edges, or multiply them.

    References:
        Ma et al., "Graph Inductive Biases in Transformers without Message Passing", https://arxiv.org/abs/2305.17589.
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
        norm: Literal["batch", "layer"] = "batch",
        dropout: float = 0.0,
        attention_dropout: float = 0.2,
        level: TaskLevel = "graph",
        readout: ReadoutKind = "sum",
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
        self._check_width_of_pairs(hidden_channels)
        added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        self.edge_vectors = EdgeVectors(features, hidden_channels, added, gates)
        self.layers = nn.ModuleList(
            GRITLayer(hidden_channels, heads, norm, dropout, attention_dropout)
            for _ in range(num_layers)
        )
        self.layers[-1].pair_update.requires_grad_(False)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        pairs = node_pairs(layout)
        pair = self._pair_vectors(x, data, layout, pairs, encodings)
        degree = torch.bincount(data.edge_index[0], minlength=layout.num_nodes)
        log_degree = degree.to(x.dtype).log1p()[:, None]
        for layer in self.layers:
            is_last = layer is self.layers[-1]
            x, pair = layer(x, pair, pairs, log_degree, update_pairs=not is_last)
        return x

    def _pair_vectors(
        self,
        x: Tensor,
        data: Data,
        layout: GraphLayout,
        pairs: NodePairs,
        encodings: Encodings,
    ) -> Tensor:
        """What the first layer reads, ``[P, hidden_channels]``."""
        source, target = data.edge_index
        edge = self.edge_vectors(data, encodings)
        row = pairs.start[source] + target - layout.ptr[layout.batch[source]]
        pair = x.new_zeros(len(pairs), x.size(1)).index_add(0, row, edge.to(x.dtype))
        for encoding in encodings.pairs:
            pair = pair + encoding
        return pair

    def _check_width_of_pairs(self, hidden_channels: int) -> None:
        for encoder in self.positional_encoders:
            if encoder.level == "pair" and encoder.out_channels != hidden_channels:
                raise ValueError(
                    f"{type(encoder).__name__} has out_channels={encoder.out_channels}, but it is added to vectors of "
                    f"pairs of {hidden_channels=}; make it {hidden_channels}"
                )
