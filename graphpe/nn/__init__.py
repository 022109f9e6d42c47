"""Learned encoders, layers and whole networks for graphs with positional encodings."""

from __future__ import annotations

from graphpe.nn.encoders import (
    SPE,
    ComplexSPE,
    EigenvectorEncoder,
    FieldEncoder,
    FieldRequirement,
    LinearEncoder,
)
from graphpe.nn.features import FeatureEmbedding
from graphpe.nn.gine import GINE
from graphpe.nn.graph_transformer import GraphTransformer
from graphpe.nn.layers import GINELayer, GraphTransformerLayer
from graphpe.nn.layout import graph_layout
from graphpe.nn.network import GraphNetwork
from graphpe.nn.readout import Readout

__all__ = [
    "GINE",
    "SPE",
    "ComplexSPE",
    "EigenvectorEncoder",
    "FeatureEmbedding",
    "FieldEncoder",
    "FieldRequirement",
    "GINELayer",
    "GraphNetwork",
    "GraphTransformer",
    "GraphTransformerLayer",
    "LinearEncoder",
    "Readout",
    "graph_layout",
]
