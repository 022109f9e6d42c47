"""Encodings as PyTorch Geometric transforms."""

from __future__ import annotations

from graphpe.transforms.base import Encoding
from graphpe.transforms.laplacian import AddLaplacianEigenvectorPE
from graphpe.transforms.random_walk import AddRandomWalkPE

__all__ = ["AddLaplacianEigenvectorPE", "AddRandomWalkPE", "Encoding", "all_encodings"]


def all_encodings() -> list[type[Encoding]]:
    """Every encoding class of graphpe, by name."""
    return [AddLaplacianEigenvectorPE, AddRandomWalkPE]
