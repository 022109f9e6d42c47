"""Networks of PyG's layers, of the same width and depth as graphpe's, as users of PyG write them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import relu
from torch_geometric.data import Data
from torch_geometric.nn import (
    GINEConv,
    GPSConv,
    PNAConv,
    TransformerConv,
    global_add_pool,
)

from graphpe import Features
from graphpe.nn.blocks import halving_mlp


class PyGNetwork(nn.Module):
    """Embedded atoms and bonds, some layers, a sum over nodes, and the head of graphpe's networks.

    Args:
        features: What the dataset offers.
        layer: Builds a layer.
        channels: Width of nodes and edges.
        num_layers: Number of layers.
    """

    def __init__(
        self,
        features: Features,
        layer: Callable[[], nn.Module],
        channels: int,
        num_layers: int,
    ) -> None:
        super().__init__()
        self.nodes = nn.Embedding(features.node_categories[0], channels)
        self.edges = None
        if features.edge_categories:
            self.edges = nn.Embedding(features.edge_categories[0], channels)
        self.layers = nn.ModuleList(layer() for _ in range(num_layers))
        self.head = halving_mlp(channels, 1)

    def forward(self, batch: Data) -> Tensor:
        x = self.nodes(batch.x[:, 0])
        edge = None if self.edges is None else self.edges(batch.edge_attr)
        for layer in self.layers:
            x, edge = layer(x, batch.edge_index, edge, batch.batch)
        return self.head(global_add_pool(x, batch.batch, batch.num_graphs))


class GPSConvLayer(nn.Module):
    """``GPSConv`` around ``GINEConv``, as in PyG's example ``graph_gps.py``.

    Args:
        channels: Width.
        heads: Number of heads.
        attention: ``"multihead"`` or ``"performer"``.
        dropout: Probability of dropout.
        attention_dropout: Probability of dropout of attention weights.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        attention: str = "multihead",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        perceptron = nn.Sequential(
            nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, channels)
        )
        # The heads of PerformerAttention are 64 wide unless told otherwise.
        own = {"head_channels": channels // heads} if attention == "performer" else {}
        self.conv = GPSConv(
            channels,
            GINEConv(perceptron),
            heads,
            dropout,
            attn_type=attention,
            attn_kwargs={"dropout": attention_dropout, **own},
        )

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, batch: Tensor
    ) -> tuple[Tensor, Tensor]:
        return self.conv(x, edge_index, batch, edge_attr=edge), edge


class TransformerConvLayer(nn.Module):
    """``TransformerConv`` with residuals, batch norm and a feed-forward network.

    Edges enter keys and values; they are not updated, which the layer of GT does, with as large a feed-forward network.
    """

    def __init__(self, channels: int, heads: int, edges: bool) -> None:
        super().__init__()
        edge_channels = channels if edges else None
        self.conv = TransformerConv(channels, channels // heads, heads, edge_dim=edge_channels)
        self.first_norm = nn.BatchNorm1d(channels)
        self.second_norm = nn.BatchNorm1d(channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
        )

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor | None, batch: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        x = self.first_norm(x + self.conv(x, edge_index, edge))
        return self.second_norm(x + self.feed_forward(x)), edge


class TransformerConvEdgesLayer(nn.Module):
    """`TransformerConvLayer` that updates edges too, as the layer of GT does: from the vectors at both ends."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.nodes = TransformerConvLayer(channels, heads, edges=True)
        self.ends = nn.Linear(2 * channels, channels)
        self.first_norm = nn.BatchNorm1d(channels)
        self.second_norm = nn.BatchNorm1d(channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
        )

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, batch: Tensor
    ) -> tuple[Tensor, Tensor]:
        new, _ = self.nodes(x, edge_index, edge, batch)
        ends = torch.cat([x[edge_index[0]], x[edge_index[1]]], dim=1)
        edge = self.first_norm(edge + self.ends(ends))
        return new, self.second_norm(edge + self.feed_forward(edge))


class GINEConvLayer(nn.Module):
    """``GINEConv`` with the perceptron of graphpe's ``GINELayer`` and a residual."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        steps: list[nn.Module] = []
        for _ in range(2):
            steps += [nn.Linear(channels, channels), nn.BatchNorm1d(channels), nn.ReLU()]
        self.conv = GINEConv(nn.Sequential(*steps, nn.Linear(channels, channels)), train_eps=True)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, batch: Tensor
    ) -> tuple[Tensor, Tensor]:
        return x + self.conv(x, edge_index, edge), edge


class PNAConvLayer(nn.Module):
    """``PNAConv`` with batch norm, ReLU and a residual, as in PyG's example ``pna.py``."""

    def __init__(self, channels: int, towers: int, degrees: Tensor) -> None:
        super().__init__()
        self.conv = PNAConv(
            channels,
            channels,
            aggregators=["mean", "min", "max", "std"],
            scalers=["identity", "amplification", "attenuation"],
            deg=degrees,
            edge_dim=channels,
            towers=towers,
            divide_input=True,
        )
        self.norm = nn.BatchNorm1d(channels)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, batch: Tensor
    ) -> tuple[Tensor, Tensor]:
        return x + relu(self.norm(self.conv(x, edge_index, edge))), edge
