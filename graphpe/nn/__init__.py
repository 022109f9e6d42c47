"""Learned encoders, layers and whole networks for graphs with positional encodings."""

from __future__ import annotations

from graphpe.nn.edge_encodings import EdgeEncodings
from graphpe.nn.encoders import (
    PEG,
    SPE,
    BasisNet,
    BasisPEARL,
    ComplexSPE,
    DiagonalEncoder,
    EigenpairDeepSets,
    EigenpairTransformer,
    EigenvectorEncoder,
    EmbeddingEncoder,
    FieldEncoder,
    FieldRequirement,
    FunctionalDistanceBias,
    GraphormerBias,
    MagLapNet,
    NodeEncoder,
    PairEncoder,
    PretrainedEncoder,
    RandomFeatureEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    RotaryEncoder,
    SignNet,
    StructuralEncoder,
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
from graphpe.nn.network import Encodings, GraphNetwork
from graphpe.nn.node_mlp import NodeMLP
from graphpe.nn.readout import Readout, TokenReadout
from graphpe.nn.transformer import Transformer

__all__ = [
    "GINE",
    "PEG",
    "SPE",
    "BasisNet",
    "BasisPEARL",
    "ComplexSPE",
    "DiagonalEncoder",
    "EdgeEncodings",
    "EigenpairDeepSets",
    "EigenpairTransformer",
    "EigenvectorEncoder",
    "EmbeddingEncoder",
    "Encodings",
    "FeatureEmbedding",
    "FieldEncoder",
    "FieldRequirement",
    "FunctionalDistanceBias",
    "GINELayer",
    "GraphHead",
    "GraphNetwork",
    "GraphTransformer",
    "GraphTransformerLayer",
    "GraphormerBias",
    "MagLapNet",
    "NodeEncoder",
    "NodeHead",
    "NodeMLP",
    "PairEncoder",
    "PairHead",
    "PretrainedEncoder",
    "RandomFeatureEncoder",
    "RandomFeaturePropagation",
    "RandomPEARL",
    "Readout",
    "RotaryEncoder",
    "SignNet",
    "StructuralEncoder",
    "StructureExtractor",
    "TokenReadout",
    "Transformer",
    "TransformerLayer",
    "graph_layout",
]
