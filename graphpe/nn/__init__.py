"""Learned encoders, layers and whole networks for graphs with positional encodings."""

from __future__ import annotations

from graphpe.nn.encoders import (
    SPE,
    ComplexSPE,
    EigenvectorEncoder,
    EmbeddingEncoder,
    FieldEncoder,
    FieldRequirement,
    MagLapNet,
    NodeEncoder,
    PairEncoder,
)
from graphpe.nn.features import FeatureEmbedding
from graphpe.nn.gine import GINE
from graphpe.nn.graph_transformer import GraphTransformer
from graphpe.nn.heads import GraphHead, NodeHead, PairHead
from graphpe.nn.layers import (
    GINELayer,
    GraphTransformerLayer,
    StructureExtractor,
    TransformerLayer,
)
from graphpe.nn.layout import graph_layout
from graphpe.nn.network import GraphNetwork
from graphpe.nn.node_mlp import NodeMLP
from graphpe.nn.readout import Readout, TokenReadout
from graphpe.nn.transformer import Transformer

__all__ = [
    "GINE",
    "SPE",
    "ComplexSPE",
    "EigenvectorEncoder",
    "EmbeddingEncoder",
    "FeatureEmbedding",
    "FieldEncoder",
    "FieldRequirement",
    "GINELayer",
    "GraphHead",
    "GraphNetwork",
    "GraphTransformer",
    "GraphTransformerLayer",
    "MagLapNet",
    "NodeEncoder",
    "NodeHead",
    "NodeMLP",
    "PairEncoder",
    "PairHead",
    "Readout",
    "StructureExtractor",
    "TokenReadout",
    "Transformer",
    "TransformerLayer",
    "graph_layout",
]
