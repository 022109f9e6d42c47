"""Encodings from the spectrum of the graph Laplacian."""

from __future__ import annotations

from graphpe.transforms.spectral.eigenvectors import AddLaplacianEigenvectorPE
from graphpe.transforms.spectral.electrostatic import AddElectrostaticPE, AddElectrostaticSE
from graphpe.transforms.spectral.heat_kernel import AddHeatKernelPE, AddHeatKernelSE
from graphpe.transforms.spectral.magnetic import AddMagneticLaplacianPE, MultiQ
from graphpe.transforms.spectral.projectors import AddSpectralProjectorPE
from graphpe.transforms.spectral.resistance import AddCommuteTimePE, AddEffectiveResistancePE
from graphpe.transforms.spectral.signatures import AddSpectralDensitySE, AddWaveKernelSE
from graphpe.transforms.spectral.singular_vectors import AddSingularVectorPE

__all__ = [
    "AddCommuteTimePE",
    "AddEffectiveResistancePE",
    "AddElectrostaticPE",
    "AddElectrostaticSE",
    "AddHeatKernelPE",
    "AddHeatKernelSE",
    "AddLaplacianEigenvectorPE",
    "AddMagneticLaplacianPE",
    "AddSingularVectorPE",
    "AddSpectralDensitySE",
    "AddSpectralProjectorPE",
    "AddWaveKernelSE",
    "MultiQ",
]
