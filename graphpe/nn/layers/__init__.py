"""Layers of graph transformers and message passing networks."""

from __future__ import annotations

from graphpe.nn.layers.gated_gcn import GatedGCNLayer
from graphpe.nn.layers.gine import GINELayer
from graphpe.nn.layers.gps import GPSLayer
from graphpe.nn.layers.graph_network_block import GraphNetworkBlock
from graphpe.nn.layers.graph_transformer import GraphTransformerLayer
from graphpe.nn.layers.graphormer import GraphormerLayer
from graphpe.nn.layers.grit import GRITLayer
from graphpe.nn.layers.pna import PNALayer
from graphpe.nn.layers.structure_extractor import StructureExtractor
from graphpe.nn.layers.transformer import TransformerLayer

__all__ = [
    "GINELayer",
    "GPSLayer",
    "GRITLayer",
    "GatedGCNLayer",
    "GraphNetworkBlock",
    "GraphTransformerLayer",
    "GraphormerLayer",
    "PNALayer",
    "StructureExtractor",
    "TransformerLayer",
]
