"""The Laplacian of one connected sparse graph, and how far vectors are from its eigenvectors."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class ConnectedLaplacian:
    """L = S^{-1} (D − A) S^{-1} of a connected graph, S a diagonal matrix.

    Args:
        adjacency: A ``[n, n]``, symmetric, connected, non-negative, without self-loops.
        scale: ``[n]``, the diagonal of S: 1 for D − A and √d for the symmetric normalisation.

    Attributes:
        matrix: L ``[n, n]``.
        unit: Its largest diagonal entry (1 if normalised, else the largest degree), which residuals
            are relative to. The largest eigenvalue is at most twice that, as L ≤ 2 diag(L).
        null_vector: ``[n]``, unit length.
    """

    def __init__(self, adjacency: sp.csr_array, scale: np.ndarray) -> None:
        degrees = adjacency.sum(1)
        inverse_scale = sp.diags_array(1.0 / scale)
        self.adjacency = adjacency
        self.scale = scale
        self.matrix = sp.csr_array(
            inverse_scale @ (sp.diags_array(degrees) - adjacency) @ inverse_scale
        )
        self.unit = float((degrees / scale**2).max())
        self.bound = 2.0 * self.unit
        self.null_vector = scale / np.linalg.norm(scale)

    def rayleigh_quotients(self, vectors: np.ndarray) -> np.ndarray:
        """``[p]`` of the unit columns of ``[n, p]``."""
        return rayleigh_quotients(self.adjacency, vectors / self.scale[:, None])

    def residuals(self, vectors: np.ndarray, values: np.ndarray) -> np.ndarray:
        """‖L v − λ v‖₂ of each column, ``[p]``, relative to the largest diagonal entry of L."""
        return np.linalg.norm(self.matrix @ vectors - vectors * values, axis=0) / self.unit


def rayleigh_quotients(adjacency: sp.csr_array, potentials: np.ndarray) -> np.ndarray:
    """Σ_{u<v} w_uv (y_u − y_v)² of each column y: no cancellation, so tiny eigenvalues are right."""
    edges = sp.triu(adjacency, k=1).tocoo()
    columns = np.ascontiguousarray(potentials.T)
    return np.array([edges.data @ (y[edges.row] - y[edges.col]) ** 2 for y in columns])
