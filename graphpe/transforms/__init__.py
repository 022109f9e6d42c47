"""Encodings as PyTorch Geometric transforms, in one folder per family."""

from __future__ import annotations

from graphpe.transforms.core.base import Encoding
from graphpe.transforms.core.per_edge_type import PerEdgeType
from graphpe.transforms.core.to import To
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.distances import (
    AddLandmarkDistancePE,
    AddReachabilityPE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
)
from graphpe.transforms.hodge import AddBettiNumberSE, AddHodgePE
from graphpe.transforms.random_features import AddRandomFeaturePropagation, AddRandomFeaturesPE
from graphpe.transforms.sequence import (
    AddDistanceDecayPE,
    AddOrderedSubsetPE,
    AddSinusoidalPE,
    AddTopologicalOrderPE,
)
from graphpe.transforms.spectral import (
    AddCommuteTimePE,
    AddEffectiveResistancePE,
    AddElectrostaticPE,
    AddElectrostaticSE,
    AddHeatKernelPE,
    AddHeatKernelSE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddSingularVectorPE,
    AddSpectralDensitySE,
    AddSpectralProjectorPE,
    AddWaveKernelSE,
    MultiQ,
)
from graphpe.transforms.structure import (
    AddClusteringCoefficientSE,
    AddCoreNumberSE,
    AddCycleCountSE,
    AddDegreeSE,
    AddHomomorphismCountSE,
    AddLocalDegreeProfileSE,
    AddWeisfeilerLemanSE,
)
from graphpe.transforms.walks import (
    AddDirectedRandomWalkPE,
    AddPersonalizedPageRankPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddWalkProfilePE,
)

_ENCODINGS: tuple[type[Encoding], ...] = (
    AddLaplacianEigenvectorPE,
    AddSpectralProjectorPE,
    AddHeatKernelSE,
    AddHeatKernelPE,
    AddWaveKernelSE,
    AddSpectralDensitySE,
    AddElectrostaticSE,
    AddElectrostaticPE,
    AddEffectiveResistancePE,
    AddCommuteTimePE,
    AddMagneticLaplacianPE,
    AddSingularVectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddPersonalizedPageRankPE,
    AddDirectedRandomWalkPE,
    AddWalkProfilePE,
    AddShortestPathPE,
    AddReachabilityPE,
    AddShortestPathEdgePE,
    AddLandmarkDistancePE,
    AddDegreeSE,
    AddLocalDegreeProfileSE,
    AddClusteringCoefficientSE,
    AddCoreNumberSE,
    AddCycleCountSE,
    AddHomomorphismCountSE,
    AddWeisfeilerLemanSE,
    AddRandomFeaturePropagation,
    AddRandomFeaturesPE,
    AddTopologicalOrderPE,
    AddSinusoidalPE,
    AddOrderedSubsetPE,
    AddDistanceDecayPE,
    AddHodgePE,
    AddBettiNumberSE,
)

__all__ = [
    "AddBettiNumberSE",
    "AddClusteringCoefficientSE",
    "AddCommuteTimePE",
    "AddCoreNumberSE",
    "AddCycleCountSE",
    "AddDegreeSE",
    "AddDirectedRandomWalkPE",
    "AddDistanceDecayPE",
    "AddEffectiveResistancePE",
    "AddElectrostaticPE",
    "AddElectrostaticSE",
    "AddHeatKernelPE",
    "AddHeatKernelSE",
    "AddHodgePE",
    "AddHomomorphismCountSE",
    "AddLandmarkDistancePE",
    "AddLaplacianEigenvectorPE",
    "AddLocalDegreeProfileSE",
    "AddMagneticLaplacianPE",
    "AddOrderedSubsetPE",
    "AddPersonalizedPageRankPE",
    "AddRandomFeaturePropagation",
    "AddRandomFeaturesPE",
    "AddRandomWalkPE",
    "AddReachabilityPE",
    "AddRelativeRandomWalkPE",
    "AddShortestPathEdgePE",
    "AddShortestPathPE",
    "AddSingularVectorPE",
    "AddSinusoidalPE",
    "AddSpectralDensitySE",
    "AddSpectralProjectorPE",
    "AddTopologicalOrderPE",
    "AddWalkProfilePE",
    "AddWaveKernelSE",
    "AddWeisfeilerLemanSE",
    "Encoding",
    "MultiQ",
    "PerEdgeType",
    "To",
    "UndirectedEncoding",
    "all_encodings",
]


def all_encodings() -> list[type[Encoding]]:
    """Every encoding class of graphpe, by family."""
    return list(_ENCODINGS)
