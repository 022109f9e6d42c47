"""Learned encoders of positional and structural fields."""

from __future__ import annotations

from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.complex_spe import ComplexSPE
from graphpe.nn.encoders.eigenvector import EigenvectorEncoder
from graphpe.nn.encoders.embedding import EmbeddingEncoder
from graphpe.nn.encoders.linear import LinearEncoder
from graphpe.nn.encoders.mag_lap_net import MagLapNet
from graphpe.nn.encoders.pair_encoder import PairEncoder
from graphpe.nn.encoders.spe import SPE

# Every encoder of graphpe.
ENCODERS: tuple[type[FieldEncoder], ...] = (
    EigenvectorEncoder,
    LinearEncoder,
    SPE,
    ComplexSPE,
    MagLapNet,
    PairEncoder,
    EmbeddingEncoder,
)

__all__ = [
    "ENCODERS",
    "SPE",
    "ComplexSPE",
    "EigenvectorEncoder",
    "EmbeddingEncoder",
    "FieldEncoder",
    "FieldRequirement",
    "LinearEncoder",
    "MagLapNet",
    "PairEncoder",
]
