"""The general, powerful, scalable graph transformer (GPS)."""

from __future__ import annotations

import copy
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing

from graphpe.checks import require_choice, require_number
from graphpe.nn.attention import (
    AttentionKernel,
    AttentionPlaces,
    DenseAttention,
    ExpanderAttention,
    GlobalAttention,
    LinearAttention,
)
from graphpe.nn.attention.rotation import check_rotation, sum_of_angles
from graphpe.nn.blocks import Normalization, check_positive, halving_mlp
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.features import has_edge_features
from graphpe.nn.layers import GatedGCNLayer, GPSLayer
from graphpe.nn.layers.gine_conv import GINEConvolution
from graphpe.nn.layers.gps import reads_edges
from graphpe.nn.layers.local_conv import LocalConv
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import TokenReadout
from graphpe.nn.stacks import stacks_of
from graphpe.tasks import Features, TaskLevel

_CONVS = ("gine", "gated_gcn", "none")
_ATTENTIONS = ("dense", "linear", "expander", "none")


class GPS(GraphNetwork):
    """Message passing and global attention side by side in each layer: any convolution of PyG, four kinds of attention.

    See :class:`~graphpe.nn.layers.GPSLayer` for the layer. The head halves the width twice, then maps to the output;
    that of pairs has ``pair_layers``. Defaults are the published ZINC network (there with random walk encodings of 20
    steps through a linear layer, concatenated to the embedded nodes instead of added: 423,717 parameters).

    Args:
        features: What the dataset offers.
        out_channels: Number of outputs per row.
        hidden_channels: Width of nodes and edges; at least 4.
        num_layers: Number of layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        conv: ``"gine"``: sums with vectors of edges, see :class:`~graphpe.nn.layers.gine_conv.GINEConvolution`;
            ``"gated_gcn"``: gated sums that update vectors of edges, see :class:`~graphpe.nn.GatedGCNLayer`;
            ``"none"``; or a convolution of ``torch_geometric.nn`` from nodes of width ``hidden_channels`` to the same
            width, of which each layer gets a fresh copy. It is given vectors of edges if it takes ``edge_attr`` (and
            was built with ``edge_dim=hidden_channels``, if it has that argument), and the batch's ``edge_weight``.
        attention: ``"dense"``: of each node to all nodes of its graph, see :class:`~graphpe.nn.DenseAttention`;
            ``"linear"``: without weights of pairs, see :class:`~graphpe.nn.LinearAttention`; ``"expander"``: along
            edges and those of a random expander, see :class:`~graphpe.nn.ExpanderAttention`; or ``"none"``.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropout after convolution and attention, and in feed-forward networks.
        attention_dropout: Probability of dropout of attention weights; None: 0.5, as published, where there are weights
            to drop (dense and expander attention).
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs. ``"virtual_node"``: by a learned
            node that attends and is attended to as one more node of each graph; not with ``attention="none"``.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, which are mapped
            and added to the vectors of edges that the first layer reads, or multiply them; and with dense attention
            of pairs (i, j), which each layer maps to a bias of the attention of node i to node j, and of angles, by
            which each layer rotates queries and keys. The head of pairs reads encodings of pairs as well.
        attention_kernel: ``"sdpa"``, or ``"flex"`` on a GPU, of dense attention, see
            :class:`~graphpe.nn.DenseAttention`.
        expander_degree: Degree of the expander, of expander attention, see :class:`~graphpe.nn.ExpanderAttention`.
        expander_virtual_nodes: Its number of virtual nodes of each graph.

    References:
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    attends_to_pairs: ClassVar[bool] = True
    reads_edge_encodings: ClassVar[bool] = True
    rotates_queries: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 10,
        heads: int = 4,
        conv: Literal["gine", "gated_gcn", "none"] | MessagePassing = "gine",
        attention: Literal["dense", "linear", "expander", "none"] = "dense",
        norm: Normalization = "batch",
        dropout: float = 0.0,
        attention_dropout: float | None = None,
        level: TaskLevel = "graph",
        readout: Literal["mean", "sum", "max", "attention", "virtual_node"] = "sum",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
        attention_kernel: AttentionKernel = "sdpa",
        expander_degree: int = 6,
        expander_virtual_nodes: int = 0,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        if not isinstance(conv, MessagePassing):
            _check_name(conv, hidden_channels)
        require_choice("attention", attention, _ATTENTIONS)
        require_choice("readout", readout, ("mean", "sum", "max", "attention", "virtual_node"))
        super().__init__(
            features,
            out_channels,
            hidden_channels,
            level,
            TokenReadout() if readout == "virtual_node" else readout,
            pair_layers,
            positional_encoders,
            head=lambda: halving_mlp(hidden_channels, out_channels),
        )
        is_virtual = readout == "virtual_node"
        self.attention = attention
        self.expander_degree = expander_degree
        self.expander_virtual_nodes = expander_virtual_nodes
        if attention_dropout is None:
            attention_dropout = 0.5 if attention in ("dense", "expander") else 0.0
        self._check_attention(hidden_channels, heads, attention_dropout, is_virtual)
        self.token = nn.Parameter(torch.randn(hidden_channels)) if is_virtual else None
        convs = [_fresh(conv, hidden_channels, norm, dropout) for _ in range(num_layers)]
        self.edge_vectors = self._build_edge_vectors(features, hidden_channels, convs[0])
        self.layers = nn.ModuleList(
            GPSLayer(
                hidden_channels,
                conv,
                self._build_attention(hidden_channels, heads, attention_dropout, attention_kernel),
                norm,
                dropout,
            )
            for conv in convs
        )
        if conv == "gated_gcn":
            # As published the edges of the last layer have a normalisation too, which nothing reads.
            self.layers[-1].conv.edge_norm.requires_grad_(False)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        tokens = self.token is not None
        if tokens:
            x = torch.cat([x, self.token.to(x.dtype).expand(layout.num_graphs, -1)])
        edge_index, edge_weight = data.edge_index, data.get("edge_weight")
        edge = None if self.edge_vectors is None else self.edge_vectors(data, encodings)
        is_stacked, is_dense = self.attention in ("dense", "linear"), self.attention == "dense"
        places = AttentionPlaces(
            layout,
            tokens,
            stacks_of(layout, tokens, is_dense and bool(encodings.pairs)) if is_stacked else None,
            encodings.pairs,
            edge_index,
            edge,
            sum_of_angles(encodings.angles, len(x)),
        )
        for layer in self.layers:
            is_last = layer is self.layers[-1]
            x, edge = layer(x, edge_index, edge, places, edge_weight, update_edges=not is_last)
        return x

    def _build_attention(
        self, channels: int, heads: int, dropout: float, kernel: AttentionKernel
    ) -> GlobalAttention | None:
        if self.attention == "dense":
            pairs = self.encoding_channels("pair", "add")
            return DenseAttention(channels, heads, pairs, dropout, kernel)
        if self.attention == "linear":
            return LinearAttention(channels, heads)
        if self.attention == "expander":
            edges = 0 if self.edge_vectors is None else channels
            return ExpanderAttention(
                channels, heads, edges, dropout, self.expander_degree, self.expander_virtual_nodes
            )
        return None

    def _build_edge_vectors(
        self, features: Features, channels: int, conv: nn.Module | None
    ) -> EdgeVectors | None:
        """What the layers read of edges; None if they read nothing."""
        added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        has_edges = has_edge_features(features) or bool(added or gates)
        if reads_edges(conv) or (self.attention == "expander" and has_edges):
            return EdgeVectors(features, channels, added, gates)
        for encoder in self.positional_encoders:
            if encoder.level == "edge" and self.level != "edge":
                raise ValueError(
                    f"{type(encoder).__name__} encodes edges, but neither the convolution nor the attention of this "
                    "GPS reads vectors of edges; take conv='gine', or a convolution built with edge_dim"
                )
        return None

    def _check_attention(self, channels: int, heads: int, dropout: float, is_virtual: bool) -> None:
        """Refuses what the kind of attention has no use for."""
        kind = self.attention
        require_number("attention_dropout", dropout, 0.0, below=1.0)
        if kind == "linear" and dropout:
            raise ValueError(
                f"attention_dropout is {dropout}, but linear attention has no weights to drop; make it 0"
            )
        if kind == "none" and is_virtual:
            raise ValueError(
                "readout is 'virtual_node', which nodes reach by attention alone, but attention is 'none'; take "
                "another readout"
            )
        if self.encoding_channels("node", "rotate"):
            if kind != "dense":
                raise ValueError(
                    f"attention is {kind!r}, which rotates no queries, but an encoder gives angles; take 'dense'"
                )
            check_rotation(channels, heads)
        if kind != "dense" and self.level != "pair" and self.encoding_channels("pair", "add"):
            raise ValueError(
                f"attention is {kind!r}, which has no place for a bias from encodings of pairs; take 'dense', level "
                "'pair', or an encoder of nodes"
            )


def _check_name(conv: object, channels: int) -> None:
    """Refuses a ``conv`` that is neither a convolution of PyG nor the name of one of ours."""
    if isinstance(conv, str) and conv in _CONVS:
        return
    given = repr(conv)
    if isinstance(conv, type):
        given = f"the class {conv.__name__}"
    elif not isinstance(conv, str):
        given = f"a {type(conv).__name__}"
    *others, last = map(repr, _CONVS)
    raise ValueError(
        f"conv is {given}; it must be {', '.join(others)} or {last}, or an instance of a convolution of "
        f"torch_geometric.nn, SAGEConv({channels}, {channels}) say"
    )


def _fresh(
    conv: str | MessagePassing, channels: int, norm: Normalization, dropout: float
) -> nn.Module | None:
    """A convolution of its own for one layer."""
    if conv == "gine":
        return GINEConvolution(channels)
    if conv == "gated_gcn":
        return GatedGCNLayer(channels, norm, dropout)
    if conv == "none":
        return None
    own = copy.deepcopy(conv)
    own.reset_parameters()
    return LocalConv(own, channels)
