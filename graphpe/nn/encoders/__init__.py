"""Learned encoders of positional and structural fields."""

from __future__ import annotations

from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.complex_spe import ComplexSPE
from graphpe.nn.encoders.eigenvector import EigenvectorEncoder
from graphpe.nn.encoders.linear import LinearEncoder
from graphpe.nn.encoders.spe import SPE

# Every encoder of graphpe.
ENCODERS: tuple[type[FieldEncoder], ...] = (
    EigenvectorEncoder,
    LinearEncoder,
    SPE,
    ComplexSPE,
)

__all__ = [
    "ENCODERS",
    "SPE",
    "ComplexSPE",
    "EigenvectorEncoder",
    "FieldEncoder",
    "FieldRequirement",
    "LinearEncoder",
]
