"""Learned encoders of fields, in one folder per kind."""

from __future__ import annotations

from graphpe.nn.encoders.any_field import (
    DiagonalEncoder,
    EmbeddingEncoder,
    NodeEncoder,
    PairEncoder,
)
from graphpe.nn.encoders.attention import FunctionalDistanceBias, GraphormerBias, RotaryEncoder
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.pretrained import PretrainedEncoder, StructuralEncoder
from graphpe.nn.encoders.random_features import (
    BasisPEARL,
    RandomFeatureEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
)
from graphpe.nn.encoders.spectral import (
    PEG,
    SPE,
    BasisNet,
    ComplexSPE,
    EigenpairDeepSets,
    EigenpairTransformer,
    EigenvectorEncoder,
    MagLapNet,
    SignNet,
)

# Every encoder of graphpe.
ENCODERS: tuple[type[FieldEncoder], ...] = (
    EigenvectorEncoder,
    NodeEncoder,
    SPE,
    ComplexSPE,
    MagLapNet,
    SignNet,
    BasisNet,
    EigenpairDeepSets,
    EigenpairTransformer,
    PEG,
    PairEncoder,
    EmbeddingEncoder,
    RotaryEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    BasisPEARL,
    DiagonalEncoder,
    FunctionalDistanceBias,
    GraphormerBias,
    StructuralEncoder,
    PretrainedEncoder,
)

__all__ = [
    "ENCODERS",
    "PEG",
    "SPE",
    "BasisNet",
    "BasisPEARL",
    "ComplexSPE",
    "DiagonalEncoder",
    "EigenpairDeepSets",
    "EigenpairTransformer",
    "EigenvectorEncoder",
    "EmbeddingEncoder",
    "FieldEncoder",
    "FieldRequirement",
    "FunctionalDistanceBias",
    "GraphormerBias",
    "MagLapNet",
    "NodeEncoder",
    "PairEncoder",
    "PretrainedEncoder",
    "RandomFeatureEncoder",
    "RandomFeaturePropagation",
    "RandomPEARL",
    "RotaryEncoder",
    "SignNet",
    "StructuralEncoder",
]
