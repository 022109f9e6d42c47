"""What `train_step.py` compares: networks, layers and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx
import torch
from pyg_networks import (
    GINEConvLayer,
    GPSConvLayer,
    PNAConvLayer,
    PyGNetwork,
    TransformerConvEdgesLayer,
    TransformerConvLayer,
)
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.utils import from_networkx

from graphpe import Features
from graphpe.nn import (
    GINE,
    GPS,
    GRIT,
    PNA,
    SPE,
    DiagonalEncoder,
    EmbeddingEncoder,
    EncodeProcessDecode,
    GatedGCN,
    GPSLayer,
    Graphormer,
    GraphormerBias,
    GraphTransformer,
    PairEncoder,
    Transformer,
)
from graphpe.nn.attention import AttentionPlaces, DenseAttention, LinearAttention
from graphpe.nn.layers.gine_conv import GINEConvolution
from graphpe.nn.layout import graph_layout
from graphpe.nn.stacks import stacks_of
from graphpe.transforms import (
    AddDegreeSE,
    AddRelativeRandomWalkPE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
)

ZINC = Features(node_categories=(28,), edge_categories=(4,))
WITHOUT_BONDS = Features(node_categories=(28,))

# A field of pairs, for attention with a bias.
WALKS = AddRelativeRandomWalkPE(8)

# The fields that the encoders of GRIT and Graphormer read; they are made ahead, as in training.
ENCODINGS = (
    AddRelativeRandomWalkPE(21),
    AddDegreeSE(max_degree=4),
    AddShortestPathPE(cap=20),
    AddShortestPathEdgePE(max_distance=20),
)


@dataclass(frozen=True)
class Size:
    """Width, depth and heads of all networks that are compared.

    Args:
        channels: Width of nodes and edges.
        layers: Number of layers.
        heads: Number of heads, and of towers.
    """

    channels: int = 64
    layers: int = 4
    heads: int = 4


Build = Callable[[], nn.Module]


@dataclass(frozen=True)
class Case:
    """A network or layer of graphpe, and those of PyG that it is compared with.

    Args:
        ours: Builds it.
        theirs: Builds each of PyG's, by name.
    """

    ours: Build
    theirs: Mapping[str, Build] = field(default_factory=dict)


def network_cases(size: Size, degrees: Tensor) -> dict[str, Case]:
    """The networks, by name.

    Args:
        size: Their size.
        degrees: ``[d]`` number of nodes of each in-degree, for PNA.
    """
    same = {"hidden_channels": size.channels, "num_layers": size.layers}
    attending = {**same, "heads": size.heads}

    def pyg(layer: Build, features: Features = ZINC) -> Build:
        return lambda: PyGNetwork(features, layer, size.channels, size.layers)

    def gps(attention: str, dropout: float = 0.0) -> Build:
        return lambda: GPS(ZINC, attention=attention, attention_dropout=dropout, **attending)

    def gps_conv(attention: str = "multihead", dropout: float = 0.0) -> Build:
        return pyg(
            lambda: GPSConvLayer(size.channels, size.heads, attention, attention_dropout=dropout)
        )

    def transformer_conv(features: Features) -> Build:
        edges = bool(features.edge_categories)
        return pyg(lambda: TransformerConvLayer(size.channels, size.heads, edges), features)

    return {
        "GPS, dense": Case(gps("dense"), {"GPSConv, multihead": gps_conv()}),
        "GPS, dense, dropout of weights": Case(
            gps("dense", dropout=0.5), {"GPSConv, multihead, dropout": gps_conv(dropout=0.5)}
        ),
        "GPS, linear": Case(gps("linear"), {"GPSConv, performer": gps_conv("performer")}),
        "GPS, expander": Case(gps("expander")),
        "GraphTransformer": Case(
            lambda: GraphTransformer(ZINC, **attending, readout="sum"),
            {
                "TransformerConv": transformer_conv(ZINC),
                "TransformerConv, edges updated": pyg(
                    lambda: TransformerConvEdgesLayer(size.channels, size.heads)
                ),
            },
        ),
        "GraphTransformer, no edge features": Case(
            lambda: GraphTransformer(WITHOUT_BONDS, **attending, readout="sum"),
            {"TransformerConv, no edge features": transformer_conv(WITHOUT_BONDS)},
        ),
        "GINE": Case(
            lambda: GINE(ZINC, **same, readout="sum"),
            {"GINEConv": pyg(lambda: GINEConvLayer(size.channels))},
        ),
        "PNA": Case(
            lambda: PNA(
                ZINC,
                **same,
                edge_channels=size.channels,
                towers=size.heads,
                degree_histogram=degrees.tolist(),
            ),
            {"PNAConv": pyg(lambda: PNAConvLayer(size.channels, size.heads, degrees))},
        ),
        "GatedGCN": Case(lambda: GatedGCN(ZINC, **same)),
        "Transformer": Case(lambda: Transformer(ZINC, **attending)),
        "GRIT": Case(
            lambda: GRIT(
                ZINC, **attending, positional_encoders=_walk_encoders(size), attention_dropout=0.0
            )
        ),
        "Graphormer": Case(
            lambda: Graphormer(
                ZINC,
                **attending,
                dropout=0.0,
                attention_dropout=0.0,
                positional_encoders=_path_encoders(size),
            )
        ),
        "EncodeProcessDecode": Case(lambda: EncodeProcessDecode(ZINC, **same)),
    }


def attending_cases(size: Size, degrees: Tensor) -> dict[str, Case]:
    """Those networks whose time depends on how graphs of different sizes are put together."""
    cases = network_cases(size, degrees)
    names = ("GPS, dense", "GPS, dense, dropout of weights", "GPS, linear", "Transformer")
    return {name: cases[name] for name in names}


def memory_cases(size: Size, degrees: Tensor) -> dict[str, Case]:
    """The same, and GPS with a bias from `WALKS`, which PyG's layer has not."""

    def biased(dropout: float) -> Build:
        pairs = {"field": "relative_random_walk_pe", "transform": "AddRelativeRandomWalkPE"}
        return lambda: GPS(
            ZINC,
            hidden_channels=size.channels,
            num_layers=size.layers,
            heads=size.heads,
            attention_dropout=dropout,
            positional_encoders=[PairEncoder(8, 16, num_layers=1, **pairs)],
        )

    return {
        **attending_cases(size, degrees),
        "GPS, bias of pairs": Case(biased(0.0)),
        "GPS, bias of pairs, dropout of weights": Case(biased(0.5)),
    }


def layer_cases(size: Size, batch: Batch) -> dict[str, Case]:
    """One GPS layer against one ``GPSConv``, on the same random nodes and edges."""
    torch.manual_seed(0)
    x = torch.randn(batch.num_nodes, size.channels, requires_grad=True)
    edge = torch.randn(batch.num_edges, size.channels, requires_grad=True)
    layout = graph_layout(batch)
    # Made once per batch in a network, so that a layer does not pay for it.
    places = AttentionPlaces(layout, stacks=stacks_of(layout))

    def ours(attention: str, dropout: float, of_weights: float) -> Build:
        def build() -> nn.Module:
            if attention == "linear":
                attends: nn.Module = LinearAttention(size.channels, size.heads)
            else:
                attends = DenseAttention(size.channels, size.heads, dropout=of_weights)
            layer = GPSLayer(
                size.channels, GINEConvolution(size.channels), attends, dropout=dropout
            )
            return _OneLayer(lambda b: layer(x, b.edge_index, edge, places)[0], layer)

        return build

    def theirs(attention: str, dropout: float, of_weights: float) -> Build:
        def build() -> nn.Module:
            layer = GPSConvLayer(size.channels, size.heads, attention, dropout, of_weights)
            return _OneLayer(lambda b: layer(x, b.edge_index, edge, b.batch)[0], layer)

        return build

    def case(attention: str, name: str, dropout: float = 0.0, of_weights: float = 0.0) -> Case:
        arguments = dropout, of_weights
        return Case(ours(attention, *arguments), {"GPSConv": theirs(name, *arguments)})

    return {
        "GPSLayer, dense": case("dense", "multihead"),
        "GPSLayer, dense, dropout of weights": case("dense", "multihead", 0.0, 0.5),
        "GPSLayer, dense, all dropout": case("dense", "multihead", 0.1, 0.5),
        "GPSLayer, linear": case("linear", "performer"),
        "GPSLayer, linear, dropout": case("linear", "performer", 0.1),
    }


def encoder_cases() -> dict[str, tuple[int, nn.Module]]:
    """SPE at its published sizes: number of eigenvectors, and network, by name.

    GINE of 4 layers and width 128 of Huang et al. (ICLR 2024), with SPE of 8 eigenvectors or all of them, 8 layers
    and width 128 in ρ.
    """
    spe_8 = SPE(k=8, out_channels=128, num_filters=6, phi="deepsets", phi_layers=4)
    spe_full = SPE(k=37, out_channels=128, num_filters=16, phi="mlp")
    return {
        "no encoding": (8, GINE(ZINC, hidden_channels=128, num_layers=4)),
        "SPE-8": (8, GINE(ZINC, hidden_channels=128, num_layers=4, positional_encoders=[spe_8])),
        "SPE-full": (
            37,
            GINE(ZINC, hidden_channels=128, num_layers=4, positional_encoders=[spe_full]),
        ),
    }


def made_graphs(sizes: Sequence[int]) -> list[Data]:
    """Connected small worlds of four neighbours per node, with random categories in the place of atoms and bonds."""
    random = torch.Generator().manual_seed(0)
    graphs = []
    for number, n in enumerate(sizes):
        graph = nx.connected_watts_strogatz_graph(n, 4, 0.1, seed=number)
        edge_index = from_networkx(graph).edge_index
        graphs.append(
            Data(
                x=torch.randint(28, (n, 1), generator=random),
                edge_index=edge_index,
                edge_attr=torch.randint(1, 4, edge_index.shape[1:], generator=random),
                y=torch.randn(1, generator=random),
            )
        )
    return graphs


class _OneLayer(nn.Module):
    """A layer that has its nodes and edges already."""

    def __init__(self, apply: Callable[[Batch], Tensor], layer: nn.Module) -> None:
        super().__init__()
        self.apply_layer, self.layer = apply, layer

    def forward(self, batch: Batch) -> Tensor:
        return self.apply_layer(batch)


def _walk_encoders(size: Size) -> list[nn.Module]:
    pair = PairEncoder(
        21,
        size.channels,
        field="relative_random_walk_pe",
        transform="AddRelativeRandomWalkPE",
        num_layers=1,
    )
    return [DiagonalEncoder(21, size.channels), pair]


def _path_encoders(size: Size) -> list[nn.Module]:
    bias = GraphormerBias(size.heads, 22, edge_categories=(4,), hidden_channels=8, max_distance=20)
    return [EmbeddingEncoder(2, 5, size.channels), bias]
