"""Operators, eigenpairs and walks of graphs: pure functions on tensors and sparse matrices."""

from __future__ import annotations

from graphpe.linalg.laplacian import (
    Normalization,
    degree,
    laplacian,
    transition_matrix,
    without_self_loops,
)
from graphpe.linalg.large.eigenpairs import ConvergenceError, smallest_laplacian_eigenpairs
from graphpe.linalg.large.return_probabilities import sparse_return_probabilities
from graphpe.linalg.spectra.eigh import canonical_signs, eigh, laplacian_eigenpairs
from graphpe.linalg.walks.return_probabilities import return_probabilities

__all__ = [
    "ConvergenceError",
    "Normalization",
    "canonical_signs",
    "degree",
    "eigh",
    "laplacian",
    "laplacian_eigenpairs",
    "return_probabilities",
    "smallest_laplacian_eigenpairs",
    "sparse_return_probabilities",
    "transition_matrix",
    "without_self_loops",
]
