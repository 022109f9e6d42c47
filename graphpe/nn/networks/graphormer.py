"""Graphormer: full attention that is biased by how nodes lie to each other, and a virtual node."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice, require_number
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.layers import GraphormerLayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import TokenReadout
from graphpe.nn.stacks import stacks_of
from graphpe.tasks import Features, TaskLevel


class Graphormer(GraphNetwork):
    r"""A transformer with the same bias of attention in all layers, from encodings of pairs, and a virtual node.

    .. math:: h^0_i = x_i + \sum_e e_i, \qquad
        a_{ij} = \mathrm{softmax}_j\, \Big(\tfrac{q_i^\top k_j}{\sqrt{d}} + b_{ij}\Big), \qquad
        b_{ij} = \sum_e b^e_{ij}, \qquad b_{iv} = b_{vi} = b_{vv} = t

    where :math:`x_i` is the embedded node, :math:`e_i` are encodings of nodes, :math:`b^e_{ij}` are encodings of pairs
    with one number per head, and :math:`v` is the virtual node of the graph: a learned vector joined to all nodes, with
    a learned bias :math:`t` per head. See :class:`~graphpe.nn.layers.GraphormerLayer` for the layer; LayerNorm follows
    the last one, and the head of graphs and nodes is one linear layer. Defaults are the published Graphormer-slim on
    ZINC, there with :class:`~graphpe.nn.GraphormerBias` of distances and paths (``out_channels=heads``) and
    :class:`~graphpe.nn.EmbeddingEncoder` of in- and out-degrees.

    Nothing depends on padding or on the other graphs of a batch. Time grows with :math:`\sum n^2` over the graphs of a
    batch; so does memory with encodings of pairs, or with dropout of attention weights.

    Args:
        features: What the dataset offers; edge features are read by encoders only.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes, and of the hidden layer of feed-forward networks.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        dropout: Probability of dropout of the first layer's input, after attention and after feed-forward networks.
        attention_dropout: Probability of dropout of attention weights.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs. ``"virtual_node"``: by the virtual
            node, which is there at all levels; with another readout there is none.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; and of pairs (i, j), of
            width ``heads``, whose sum is added to the logits of the attention of node i to node j in all layers. The
            head of pairs reads encodings of pairs as well. Without encodings of pairs there is no bias, also not of
            the virtual node.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", https://arxiv.org/abs/2106.05234.
    """

    attends_to_pairs: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 80,
        num_layers: int = 12,
        heads: int = 8,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        level: TaskLevel = "graph",
        readout: Literal["mean", "sum", "max", "attention", "virtual_node"] = "virtual_node",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        require_choice("readout", readout, ("mean", "sum", "max", "attention", "virtual_node"))
        require_number("attention_dropout", attention_dropout, 0.0, below=1.0)
        super().__init__(
            features,
            out_channels,
            hidden_channels,
            level,
            TokenReadout() if readout == "virtual_node" else readout,
            pair_layers,
            positional_encoders,
            head=lambda: nn.Linear(hidden_channels, out_channels),
        )
        is_biased = self._check_biases(heads)
        is_virtual = readout == "virtual_node"
        self.virtual_node = nn.Parameter(torch.randn(hidden_channels)) if is_virtual else None
        self.virtual_bias = nn.Parameter(torch.zeros(heads)) if is_virtual and is_biased else None
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            GraphormerLayer(hidden_channels, heads, dropout, attention_dropout, is_biased)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        is_virtual = self.virtual_node is not None
        if is_virtual:
            x = torch.cat([x, self.virtual_node.to(x.dtype).expand(layout.num_graphs, -1)])
        is_biased = bool(encodings.pairs)
        places = AttentionPlaces(
            layout,
            is_virtual,
            stacks_of(layout, is_virtual, pairs=is_biased),
            [sum(encodings.pairs[1:], encodings.pairs[0])] if is_biased else (),
            token_pair=self.virtual_bias,
        )
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, places)
        return self.norm(x)

    def _check_biases(self, heads: int) -> bool:
        """Whether encodings of pairs bias the attention; refuses those of another width than the number of heads."""
        check_positive(heads=heads)
        biases = [encoder for encoder in self.positional_encoders if encoder.level == "pair"]
        for encoder in biases:
            if encoder.out_channels != heads:
                raise ValueError(
                    f"{type(encoder).__name__} has out_channels={encoder.out_channels}, but it is added to the logits "
                    f"of {heads=}; make it {heads}"
                )
        return bool(biases)
