"""Learned encoders, layers and whole networks for graphs with positional encodings."""

from __future__ import annotations

from graphpe.nn.attention import DenseAttention, ExpanderAttention, GlobalAttention, LinearAttention
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
from graphpe.nn.encodings import Encodings
from graphpe.nn.features import FeatureEmbedding
from graphpe.nn.heads import EdgeHead, GraphHead, NodeHead, PairHead
from graphpe.nn.layers import (
    GatedGCNLayer,
    GINELayer,
    GPSLayer,
    GraphNetworkBlock,
    GraphormerLayer,
    GraphTransformerLayer,
    GRITLayer,
    PNALayer,
    StructureExtractor,
    TransformerLayer,
)
from graphpe.nn.layout import graph_layout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.networks.encode_process_decode import EncodeProcessDecode
from graphpe.nn.networks.gated_gcn import GatedGCN
from graphpe.nn.networks.gine import GINE
from graphpe.nn.networks.gps import GPS
from graphpe.nn.networks.graph_transformer import GraphTransformer
from graphpe.nn.networks.graphormer import Graphormer
from graphpe.nn.networks.grit import GRIT
from graphpe.nn.networks.node_mlp import NodeMLP
from graphpe.nn.networks.pna import PNA
from graphpe.nn.networks.transformer import Transformer
from graphpe.nn.readout import AttentionReadout, Readout, TokenReadout

__all__ = [
    "GINE",
    "GPS",
    "GRIT",
    "PEG",
    "PNA",
    "SPE",
    "AttentionReadout",
    "BasisNet",
    "BasisPEARL",
    "ComplexSPE",
    "DenseAttention",
    "DiagonalEncoder",
    "EdgeEncodings",
    "EdgeHead",
    "EigenpairDeepSets",
    "EigenpairTransformer",
    "EigenvectorEncoder",
    "EmbeddingEncoder",
    "EncodeProcessDecode",
    "Encodings",
    "ExpanderAttention",
    "FeatureEmbedding",
    "FieldEncoder",
    "FieldRequirement",
    "FunctionalDistanceBias",
    "GINELayer",
    "GPSLayer",
    "GRITLayer",
    "GatedGCN",
    "GatedGCNLayer",
    "GlobalAttention",
    "GraphHead",
    "GraphNetwork",
    "GraphNetworkBlock",
    "GraphTransformer",
    "GraphTransformerLayer",
    "Graphormer",
    "GraphormerBias",
    "GraphormerLayer",
    "LinearAttention",
    "MagLapNet",
    "NodeEncoder",
    "NodeHead",
    "NodeMLP",
    "PNALayer",
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
