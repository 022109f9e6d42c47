"""Learned encoders of fields, in one folder per kind."""

from __future__ import annotations

from graphpe.nn.encoders.any_field import EmbeddingEncoder, NodeEncoder, PairEncoder
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.spectral import SPE, ComplexSPE, EigenvectorEncoder, MagLapNet

# Every encoder of graphpe.
ENCODERS: tuple[type[FieldEncoder], ...] = (
    EigenvectorEncoder,
    NodeEncoder,
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
    "MagLapNet",
    "NodeEncoder",
    "PairEncoder",
]
