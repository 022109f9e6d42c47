"""Encoders of eigenvectors and eigenvalues."""

from __future__ import annotations

from graphpe.nn.encoders.spectral.basis_net import BasisNet
from graphpe.nn.encoders.spectral.complex_spe import ComplexSPE
from graphpe.nn.encoders.spectral.eigenpair_sets import EigenpairDeepSets, EigenpairTransformer
from graphpe.nn.encoders.spectral.eigenvector import EigenvectorEncoder
from graphpe.nn.encoders.spectral.mag_lap_net import MagLapNet
from graphpe.nn.encoders.spectral.peg import PEG
from graphpe.nn.encoders.spectral.sign_net import SignNet
from graphpe.nn.encoders.spectral.spe import SPE

__all__ = [
    "PEG",
    "SPE",
    "BasisNet",
    "ComplexSPE",
    "EigenpairDeepSets",
    "EigenpairTransformer",
    "EigenvectorEncoder",
    "MagLapNet",
    "SignNet",
]
