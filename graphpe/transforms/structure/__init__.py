"""Structural encodings: degrees, cycles, homomorphisms, colours."""

from __future__ import annotations

from graphpe.transforms.structure.clustering import AddClusteringCoefficientSE
from graphpe.transforms.structure.core_number import AddCoreNumberSE
from graphpe.transforms.structure.cycles import AddCycleCountSE
from graphpe.transforms.structure.degree import AddDegreeSE
from graphpe.transforms.structure.degree_profile import AddLocalDegreeProfileSE
from graphpe.transforms.structure.homomorphisms import AddHomomorphismCountSE
from graphpe.transforms.structure.weisfeiler_leman import AddWeisfeilerLemanSE

__all__ = [
    "AddClusteringCoefficientSE",
    "AddCoreNumberSE",
    "AddCycleCountSE",
    "AddDegreeSE",
    "AddHomomorphismCountSE",
    "AddLocalDegreeProfileSE",
    "AddWeisfeilerLemanSE",
]
