"""Encoders of eigenvectors and eigenvalues."""

from __future__ import annotations

from graphpe.nn.encoders.spectral.complex_spe import ComplexSPE
from graphpe.nn.encoders.spectral.eigenvector import EigenvectorEncoder
from graphpe.nn.encoders.spectral.mag_lap_net import MagLapNet
from graphpe.nn.encoders.spectral.spe import SPE

__all__ = ["SPE", "ComplexSPE", "EigenvectorEncoder", "MagLapNet"]
