"""From the nodes that a network has updated to its output: one row per graph, node, edge or pair of nodes."""

from __future__ import annotations

from graphpe.nn.heads.build import Head, build_head
from graphpe.nn.heads.edge_head import EdgeHead
from graphpe.nn.heads.graph_head import GraphHead
from graphpe.nn.heads.node_head import NodeHead
from graphpe.nn.heads.pair_head import PairHead
from graphpe.nn.heads.two_node_mlp import TwoNodeMLP

__all__ = ["EdgeHead", "GraphHead", "Head", "NodeHead", "PairHead", "TwoNodeMLP", "build_head"]
