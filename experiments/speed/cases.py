"""Each encoding, and what it is measured against."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import per_graph
from torch_geometric.data import Data

from graphpe.transforms import Encoding
from graphpe.transforms.distances import (
    AddLandmarkDistancePE,
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
    AddSpectralDensitySE,
    AddSpectralProjectorPE,
    AddWaveKernelSE,
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
    AddPersonalizedPageRankPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
)


@dataclass(frozen=True)
class Case:
    """An encoding and the function that gives its fields, or the first of them, for one graph.

    Attributes:
        encoding: Of graphpe.
        made_with: What the function uses.
        function: From a graph to an array or several.
        acyclic: Whether only the edges from lower to higher node numbers are kept: an order needs directions.
    """

    encoding: Encoding
    made_with: str
    function: Callable[[Data], Any]
    acyclic: bool = False


def _trees(encoding: AddHomomorphismCountSE) -> list[per_graph.Tree]:
    """The trees of an encoding as tuples: with commas, the brackets that it writes them as are Python's."""
    brackets = [pattern for pattern in encoding.patterns if pattern.startswith("(")]
    return [ast.literal_eval(pattern.replace(")", "),"))[0] for pattern in brackets]


CASES = [
    Case(
        AddLaplacianEigenvectorPE(8),
        "PyG, is_undirected=True",
        partial(per_graph.eigenvectors, k=8),
    ),
    Case(
        AddHeatKernelSE(),
        "numpy eigh",
        partial(per_graph.heat_kernel_diagonal, times=np.arange(1, 21)),
    ),
    Case(
        AddHeatKernelPE(),
        "numpy eigh",
        partial(per_graph.heat_kernel, times=np.array([1.0, 2.0, 4.0, 8.0])),
    ),
    Case(AddElectrostaticSE(), "numpy pinv", per_graph.potential_statistics),
    Case(AddElectrostaticPE(), "numpy pinv", per_graph.potentials),
    Case(AddEffectiveResistancePE(), "numpy pinv", per_graph.effective_resistance),
    Case(AddCommuteTimePE(), "numpy pinv", per_graph.commute_time),
    Case(AddSpectralProjectorPE(8), "numpy eigh", partial(per_graph.projectors, k=8)),
    Case(
        AddWaveKernelSE(), "numpy eigh", partial(per_graph.wave_kernel, energies=16, smallest=0.02)
    ),
    Case(AddSpectralDensitySE(), "numpy eigvalsh", partial(per_graph.spectral_density, bins=16)),
    Case(AddRandomWalkPE(20), "PyG", partial(per_graph.return_probabilities, walk_length=20)),
    Case(AddRelativeRandomWalkPE(21), "torch", partial(per_graph.relative_walks, walk_length=21)),
    Case(
        AddPersonalizedPageRankPE(),
        "numpy inv",
        partial(per_graph.personalized_pagerank, restart=0.1),
    ),
    Case(AddShortestPathPE(), "scipy csgraph", partial(per_graph.shortest_paths, cap=20)),
    Case(
        AddShortestPathEdgePE(),
        "scipy csgraph, numpy",
        partial(per_graph.shortest_path_edges, max_distance=5),
    ),
    Case(
        AddLandmarkDistancePE(8),
        "scipy csgraph",
        partial(per_graph.landmark_distances, landmarks=8, cap=20),
    ),
    Case(AddDegreeSE(16), "PyG degree", partial(per_graph.degrees, max_degree=16)),
    Case(AddClusteringCoefficientSE(), "networkx", per_graph.clustering_coefficients),
    Case(AddCoreNumberSE(), "networkx", per_graph.core_numbers),
    Case(AddCycleCountSE(), "networkx", partial(per_graph.cycle_counts, longest=8)),
    Case(
        AddHomomorphismCountSE(),
        "numpy",
        partial(
            per_graph.homomorphism_counts,
            longest=8,
            trees=_trees(AddHomomorphismCountSE()),
        ),
    ),
    Case(AddLocalDegreeProfileSE(), "PyG", per_graph.degree_profile),
    Case(
        AddWeisfeilerLemanSE(4),
        "networkx",
        partial(per_graph.weisfeiler_leman, rounds=4, categories=2**16),
    ),
    Case(AddRandomFeaturesPE(16), "torch randn", partial(per_graph.random_features, channels=16)),
    Case(
        AddRandomFeaturePropagation(16, 8),
        "numpy",
        partial(per_graph.random_feature_propagation, channels=16, steps=8),
    ),
    Case(AddOrderedSubsetPE(2048), "numpy", partial(per_graph.ordered_subset, maximum=2048)),
    Case(AddSinusoidalPE(16), "numpy", partial(per_graph.sinusoids, channels=16)),
    Case(AddDistanceDecayPE(), "scipy csgraph", partial(per_graph.distance_decay, heads=8)),
    Case(
        AddTopologicalOrderPE(),
        "networkx",
        partial(per_graph.topological_order, maximum=20),
        acyclic=True,
    ),
    Case(AddHodgePE(4), "numpy eigh", partial(per_graph.hodge_coordinates, k=4)),
    Case(AddBettiNumberSE(), "numpy, networkx", per_graph.betti_numbers),
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
