"""Each encoding, and what it is measured against."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch_geometric.transforms as pyg_transforms
import with_numpy
import with_pyg
from per_graph import PreTransform
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphpe.transforms import (
    AddBettiNumberSE,
    AddClusteringCoefficientSE,
    AddCommuteTimePE,
    AddCoreNumberSE,
    AddCycleCountSE,
    AddDegreeSE,
    AddDirectedRandomWalkPE,
    AddDistanceDecayPE,
    AddEffectiveResistancePE,
    AddElectrostaticPE,
    AddElectrostaticSE,
    AddHeatKernelPE,
    AddHeatKernelSE,
    AddHodgePE,
    AddHomomorphismCountSE,
    AddLandmarkDistancePE,
    AddLaplacianEigenvectorPE,
    AddLocalDegreeProfileSE,
    AddMagneticLaplacianPE,
    AddOrderedSubsetPE,
    AddPersonalizedPageRankPE,
    AddRandomFeaturePropagation,
    AddRandomFeaturesPE,
    AddRandomWalkPE,
    AddReachabilityPE,
    AddRelativeRandomWalkPE,
    AddShortestPathEdgePE,
    AddShortestPathPE,
    AddSingularVectorPE,
    AddSinusoidalPE,
    AddSpectralDensitySE,
    AddSpectralProjectorPE,
    AddTopologicalOrderPE,
    AddWalkProfilePE,
    AddWaveKernelSE,
    AddWeisfeilerLemanSE,
    Encoding,
)


@dataclass(frozen=True)
class Case:
    """An encoding and what others would write for a single graph.

    Attributes:
        encoding: Of graphpe.
        pyg: With PyG's utilities or networkx, as in published code: one of PyG's transforms, or a function that gives
            the fields, or the first of them.
        numpy: With numpy and scipy alone. Left out where that would be a work of its own, or the same.
        acyclic: Whether only the edges from lower to higher node numbers are kept: an order needs directions.
    """

    encoding: Encoding
    pyg: Callable[[Data], Any] | None = None
    numpy: Callable[[Data], Any] | None = None
    acyclic: bool = False

    def pre_transforms(self) -> dict[str, BaseTransform]:
        """Both, or the one there is, from a graph to a graph with the fields."""
        functions = {"pyg": self.pyg, "numpy": self.numpy}
        return {
            kind: function
            if isinstance(function, BaseTransform)
            else PreTransform(function, self.encoding.fields())
            for kind, function in functions.items()
            if function is not None
        }


def _trees(encoding: AddHomomorphismCountSE) -> list[with_numpy.Tree]:
    """The trees of an encoding as tuples: with commas, the brackets that it writes them as are Python's."""
    brackets = [pattern for pattern in encoding.patterns if pattern.startswith("(")]
    return [ast.literal_eval(pattern.replace(")", "),"))[0] for pattern in brackets]


def _both(encoding: Encoding, name: str, **settings: Any) -> Case:
    """A case of two functions of one name and with the same settings."""
    return Case(
        encoding,
        partial(getattr(with_pyg, name), **settings),
        partial(getattr(with_numpy, name), **settings),
    )


def _operators(encoding: Encoding, function: Callable, operator: str, **settings: Any) -> Case:
    """A case of one function of an operator that is made with PyG or with numpy."""
    return Case(
        encoding,
        partial(function, operator=getattr(with_pyg, operator), **settings),
        partial(function, operator=getattr(with_numpy, operator), **settings),
    )


def _distances(encoding: Encoding, function: Callable, **settings: Any) -> Case:
    """A case of one function of the distances, which are found with networkx or with scipy."""
    return Case(
        encoding,
        partial(function, distances=with_pyg.hop_distances, **settings),
        partial(function, distances=with_numpy.hop_distances, **settings),
    )


CASES = [
    Case(
        AddLaplacianEigenvectorPE(8),
        with_pyg.Eigenvectors(8, is_undirected=True),
        partial(with_numpy.eigenvectors, k=8),
    ),
    _both(AddHeatKernelSE(), "heat_kernel_diagonal", times=np.arange(1, 21)),
    _operators(
        AddHeatKernelPE(),
        with_numpy.heat_kernel,
        "laplacian",
        times=np.array([1.0, 2.0, 4.0, 8.0]),
    ),
    _both(AddElectrostaticSE(), "potential_statistics"),
    _operators(AddElectrostaticPE(), with_numpy.potentials, "laplacian"),
    _operators(AddEffectiveResistancePE(), with_numpy.effective_resistance, "laplacian"),
    _operators(
        AddCommuteTimePE(), with_numpy.effective_resistance, "laplacian", is_times_volume=True
    ),
    _operators(AddSpectralProjectorPE(8), with_numpy.projectors, "normalized_laplacian", k=8),
    _operators(
        AddWaveKernelSE(),
        with_numpy.wave_kernel,
        "normalized_laplacian",
        energies=16,
        smallest=0.02,
    ),
    _operators(
        AddSpectralDensitySE(), with_numpy.spectral_density, "normalized_laplacian", bins=16
    ),
    Case(
        AddRandomWalkPE(20),
        pyg_transforms.AddRandomWalkPE(20),
        partial(with_numpy.return_probabilities, walk_length=20),
    ),
    _both(AddRelativeRandomWalkPE(21), "relative_walks", walk_length=21),
    _both(AddPersonalizedPageRankPE(), "personalized_pagerank", restart=0.1),
    _distances(AddShortestPathPE(), with_numpy.shortest_paths, cap=20),
    _both(AddShortestPathEdgePE(), "shortest_path_edges", max_distance=5),
    _both(AddLandmarkDistancePE(8), "landmark_distances", landmarks=8, cap=20),
    _both(AddDegreeSE(16), "degrees", max_degree=16),
    _both(AddClusteringCoefficientSE(), "clustering_coefficients"),
    Case(AddCoreNumberSE(), pyg=with_pyg.core_numbers),
    Case(AddCycleCountSE(), pyg=partial(with_pyg.cycle_counts, longest=8)),
    _both(
        AddHomomorphismCountSE(),
        "homomorphism_counts",
        longest=8,
        trees=_trees(AddHomomorphismCountSE()),
    ),
    Case(AddLocalDegreeProfileSE(), pyg_transforms.LocalDegreeProfile(), with_numpy.degree_profile),
    Case(AddWeisfeilerLemanSE(4), pyg=with_pyg.weisfeiler_leman(rounds=4)),
    Case(AddRandomFeaturesPE(16), pyg=partial(with_pyg.random_features, channels=16)),
    _both(AddRandomFeaturePropagation(16, 8), "random_feature_propagation", channels=16, steps=8),
    _both(AddOrderedSubsetPE(2048), "ordered_subset", maximum=2048),
    Case(AddSinusoidalPE(16), numpy=partial(with_numpy.sinusoids, channels=16)),
    _distances(AddDistanceDecayPE(), with_numpy.distance_decay, heads=8),
    Case(
        AddTopologicalOrderPE(),
        pyg=partial(with_pyg.topological_order, maximum=20),
        acyclic=True,
    ),
    Case(
        AddMagneticLaplacianPE(8),
        numpy=partial(with_numpy.magnetic_eigenvectors, k=8, q=0.25),
        acyclic=True,
    ),
    Case(
        AddDirectedRandomWalkPE(16),
        numpy=partial(with_numpy.directed_walks, walk_length=16),
        acyclic=True,
    ),
    Case(AddWalkProfilePE(4), numpy=partial(with_numpy.walk_profile, length=4), acyclic=True),
    Case(AddReachabilityPE(), numpy=with_numpy.reachability, acyclic=True),
    Case(AddSingularVectorPE(8), numpy=partial(with_numpy.singular_vectors, k=8), acyclic=True),
    Case(AddHodgePE(4), numpy=partial(with_numpy.hodge_coordinates, k=4)),
    Case(AddBettiNumberSE(), numpy=with_numpy.betti_numbers),
]

# Encodings that are often wanted together, and that share something.
GROUPS = {
    "of D - A: eigenvectors, heat kernels, projectors": [
        AddLaplacianEigenvectorPE(8, normalization="none"),
        AddHeatKernelSE(),
        AddHeatKernelPE(),
        AddSpectralProjectorPE(8, normalization="none"),
    ],
    "resistance, commute time, electrostatic": [
        AddEffectiveResistancePE(),
        AddCommuteTimePE(),
        AddElectrostaticSE(),
        AddElectrostaticPE(),
    ],
    "eigenvectors, heat kernel, electrostatic, resistance, projectors": [
        AddLaplacianEigenvectorPE(8, normalization="none"),
        AddHeatKernelSE(),
        AddElectrostaticSE(),
        AddEffectiveResistancePE(),
        AddSpectralProjectorPE(8, normalization="none"),
    ],
    "walks: return probabilities, all pairs, PageRank": [
        AddRandomWalkPE(20),
        AddRelativeRandomWalkPE(21),
        AddPersonalizedPageRankPE(),
    ],
    "distances: shortest paths, their edges, landmarks, decay": [
        AddShortestPathPE(),
        AddShortestPathEdgePE(),
        AddLandmarkDistancePE(8),
        AddDistanceDecayPE(),
    ],
    "structure: degrees, clustering, cores, cycles, homomorphisms, profile, colors": [
        AddDegreeSE(16),
        AddClusteringCoefficientSE(),
        AddCoreNumberSE(),
        AddCycleCountSE(),
        AddHomomorphismCountSE(),
        AddLocalDegreeProfileSE(),
        AddWeisfeilerLemanSE(4),
    ],
}
