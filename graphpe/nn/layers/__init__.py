"""Layers of graph transformers and message passing networks."""

from __future__ import annotations

from graphpe.nn.layers.gine import GINELayer
from graphpe.nn.layers.graph_transformer import GraphTransformerLayer

__all__ = ["GINELayer", "GraphTransformerLayer"]
