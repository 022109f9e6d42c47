"""Encodings from the spectrum of the graph Laplacian."""

from __future__ import annotations

from graphpe.transforms.spectral.eigenvectors import AddLaplacianEigenvectorPE

__all__ = ["AddLaplacianEigenvectorPE"]
