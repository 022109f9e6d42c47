"""Encodings as PyTorch Geometric transforms."""

from __future__ import annotations

from graphpe.transforms.core.base import Encoding
from graphpe.transforms.core.per_edge_type import PerEdgeType
from graphpe.transforms.core.to import To
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.spectral import AddLaplacianEigenvectorPE
from graphpe.transforms.walks import AddRandomWalkPE

_ENCODINGS = (AddLaplacianEigenvectorPE, AddRandomWalkPE)

__all__ = [
    "AddLaplacianEigenvectorPE",
    "AddRandomWalkPE",
    "Encoding",
    "PerEdgeType",
    "To",
    "UndirectedEncoding",
    "all_encodings",
]


def all_encodings() -> list[type[Encoding]]:
    """Every encoding class of graphpe, by family."""
    return list(_ENCODINGS)
