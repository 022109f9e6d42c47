"""A transformer: full attention between the nodes of each graph."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_boolean, require_choice
from graphpe.nn.attention import AttentionKernel, AttentionPlaces
from graphpe.nn.attention.rotation import check_rotation, sum_of_angles
from graphpe.nn.blocks import check_not_negative, check_positive
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.nn.layers import TransformerLayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import Encodings, GraphNetwork
from graphpe.nn.readout import TokenReadout
from graphpe.nn.stacks import stacks_of
from graphpe.tasks import Features, TaskLevel


class Transformer(GraphNetwork):
    r"""A transformer whose nodes attend to all nodes of their graph; encodings bias logits or rotate queries and keys.

    See :class:`~graphpe.nn.layers.TransformerLayer` for the layer. The head of graphs and nodes is one linear layer.
    Nothing depends on padding or on the other graphs of a batch. Time grows with :math:`\sum n^2` over the graphs of a
    batch; so does memory with encodings of pairs.

    With ``structure_hops=0`` the network sees a graph only through its encodings. The published networks for source
    code use ``structure_hops=3, degree_scaling=True, readout="virtual_node", dropout=0.185``; those for sorting
    networks ``readout="virtual_node", dropout=0.185``; those for pairs also ``pair_layers=3``.

    Args:
        features: What the dataset offers; edge features are read only with ``structure_hops``.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        dropout: Probability of dropout after attention and in feed-forward networks.
        structure_hops: Queries and keys come from a graph network of so many hops over the nodes as they are in that
            layer, see :class:`~graphpe.nn.layers.StructureExtractor`; 0: from the nodes themselves.
        degree_scaling: Whether the output of attention is divided by :math:`\sqrt{d + 1}` for a node with d outgoing
            edges.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs. ``"virtual_node"``: by
            a learned node that attends and is attended to as one more node of each graph.
        pair_layers: Number of linear layers of the head of pairs, see :class:`~graphpe.nn.heads.PairHead`.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of pairs (i, j), which
            each layer maps to a bias of the attention of node i to node j, and the head of pairs reads as well; and of
            angles, by which each layer rotates queries and keys (a token has angle 0).
        attention_kernel: ``"sdpa"``, or ``"flex"`` on a GPU, see :class:`~graphpe.nn.DenseAttention`.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762;
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    attends_to_pairs: ClassVar[bool] = True
    rotates_queries: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 256,
        num_layers: int = 4,
        heads: int = 4,
        dropout: float = 0.0,
        structure_hops: int = 0,
        degree_scaling: bool = False,
        level: TaskLevel = "graph",
        readout: Literal["mean", "sum", "max", "attention", "virtual_node"] = "mean",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
        attention_kernel: AttentionKernel = "sdpa",
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        check_not_negative(structure_hops=structure_hops)
        require_boolean("degree_scaling", degree_scaling)
        require_choice("readout", readout, ("mean", "sum", "max", "attention", "virtual_node"))
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
        self.degree_scaling = degree_scaling
        self.token = (
            nn.Parameter(torch.randn(hidden_channels)) if readout == "virtual_node" else None
        )
        edges = structure_hops > 0 and has_edge_features(features)
        self.edge_embedding = FeatureEmbedding(features, hidden_channels, "edge") if edges else None
        self.layers = nn.ModuleList(
            TransformerLayer(
                hidden_channels,
                heads,
                dropout,
                self.encoding_channels("pair", "add"),
                structure_hops,
                hidden_channels if edges else 0,
                attention_kernel,
            )
            for _ in range(num_layers)
        )
        if self.encoding_channels("node", "rotate"):
            check_rotation(hidden_channels, heads)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        if self.token is not None:
            x = torch.cat([x, self.token.to(x.dtype).expand(layout.num_graphs, -1)])
        tokens = self.token is not None
        places = AttentionPlaces(
            layout,
            tokens,
            stacks_of(layout, tokens, pairs=bool(encodings.pairs)),
            encodings.pairs,
            data.edge_index,
            None if self.edge_embedding is None else self.edge_embedding(data),
            sum_of_angles(encodings.angles, len(x)),
        )
        scale = _degree_scale(data.edge_index[0], x) if self.degree_scaling else None
        for layer in self.layers:
            x = layer(x, places, scale)
        return x


def _degree_scale(source: Tensor, x: Tensor) -> Tensor:
    """One over the root of the out-degree and one more, ``[R, 1]``; 1 for tokens, which have no edges."""
    degree = torch.bincount(source, minlength=len(x))
    return (degree + 1).to(x.dtype).rsqrt()[:, None]
