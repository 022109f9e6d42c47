"""Which head a network has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from torch import nn

from graphpe.checks import require_choice
from graphpe.nn.blocks import check_positive
from graphpe.nn.heads.edge_head import EdgeHead
from graphpe.nn.heads.graph_head import GraphHead
from graphpe.nn.heads.node_head import NodeHead
from graphpe.nn.heads.pair_head import PairHead
from graphpe.tasks import Features, TaskLevel

Head = GraphHead | NodeHead | EdgeHead | PairHead


def build_head(
    level: TaskLevel,
    features: Features,
    readout: nn.Module,
    network: Callable[[], nn.Module],
    channels: int,
    out_channels: int,
    pair_layers: int,
    edge_channels: Sequence[int],
    pair_channels: Sequence[int],
) -> Head:
    """Builds the head of a network.

    Args:
        level: What a row of the output describes.
        features: What the dataset offers.
        readout: Pools the nodes, for graphs, edges and pairs.
        network: Builds what maps ``[rows, channels]`` to the output, for graphs and nodes.
        channels: Width of the nodes.
        out_channels: Number of outputs per row.
        pair_layers: Number of linear layers, for edges and pairs.
        edge_channels: See :class:`EdgeHead`.
        pair_channels: See :class:`PairHead`.
    """
    require_choice("level", level, get_args(TaskLevel))
    check_positive(pair_layers=pair_layers)
    if level == "graph":
        return GraphHead(readout, network())
    if level == "node":
        return NodeHead(network())
    if level == "edge":
        return EdgeHead(features, readout, channels, out_channels, pair_layers, edge_channels)
    return PairHead(readout, channels, out_channels, pair_layers, pair_channels)
