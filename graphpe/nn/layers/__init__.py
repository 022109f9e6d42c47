"""Layers of graph transformers and message passing networks."""

from __future__ import annotations

from graphpe.nn.layers.gine import GINELayer
from graphpe.nn.layers.graph_transformer import GraphTransformerLayer
from graphpe.nn.layers.structure_extractor import StructureExtractor
from graphpe.nn.layers.transformer import TransformerLayer

__all__ = ["GINELayer", "GraphTransformerLayer", "StructureExtractor", "TransformerLayer"]
