"""Large sparse graphs, some with known spectra, and checks of their eigenpairs."""

from __future__ import annotations

import gzip
from math import pi
from pathlib import Path

import networkx
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from spectral_oracles import check_lengths


def sparse(graph: networkx.Graph) -> sp.csr_array:
    return sp.csr_array(networkx.to_scipy_sparse_array(graph, dtype=float))


def path(n: int) -> sp.csr_array:
    return sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], format="csr")


def cycle(n: int) -> sp.csr_array:
    around = sp.csr_array(([1.0, 1.0], ([0, n - 1], [n - 1, 0])), shape=(n, n))
    return sp.csr_array(path(n) + around)


def grid(rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array(
        sp.kron(path(rows), sp.identity(columns)) + sp.kron(sp.identity(rows), path(columns))
    )


def grid_values(rows: int, columns: int, k: int) -> np.ndarray:
    along = 2 - 2 * np.cos(pi * np.arange(rows) / rows)
    across = 2 - 2 * np.cos(pi * np.arange(columns) / columns)
    return np.sort((along[:, None] + across).ravel())[:k]


def hypercube(dimension: int) -> sp.csr_array:
    """Eigenvalue 2 j of D − A has C(dimension, j) copies."""
    result = sp.csr_array((2**dimension, 2**dimension))
    for bit in range(dimension):
        u = np.arange(2**dimension)
        result = result + sp.csr_array((np.ones(len(u)), (u, u ^ (1 << bit))))
    return sp.csr_array(result)


def disjoint(*parts) -> sp.csr_array:
    return sp.csr_array(sp.block_diag(parts))


def weighted(adjacency: sp.csr_array, seed: int = 0) -> sp.csr_array:
    """The same edges with weights from 0.01 to 10."""
    edges = sp.triu(adjacency).tocoo()
    weights = np.random.default_rng(seed).uniform(0.01, 10.0, edges.nnz)
    upper = sp.coo_array((weights, (edges.row, edges.col)), shape=adjacency.shape)
    return sp.csr_array(upper + upper.T)


def giant_component(adjacency: sp.csr_array) -> sp.csr_array:
    _, labels = csgraph.connected_components(adjacency)
    giant = np.flatnonzero(labels == np.bincount(labels).argmax())
    return sp.csr_array(adjacency[giant][:, giant])


def email_enron(shared_data: Path) -> sp.csr_array:
    """A real graph with hubs and whiskers; its giant component has 33,696 nodes."""
    with gzip.open(shared_data / "large_graphs" / "email-Enron.txt.gz", "rt") as lines:
        return giant_component(_undirected(np.loadtxt(lines, dtype=np.int64)))


def tolokers(shared_data: Path) -> sp.csr_array:
    """A dense real graph: 11,758 nodes of mean degree 88."""
    file = shared_data / "heterophilous" / "tolokers" / "raw" / "tolokers.npz"
    return giant_component(_undirected(np.load(file)["edges"]))


def _undirected(edges: np.ndarray) -> sp.csr_array:
    n = int(edges.max()) + 1
    adjacency = sp.coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    adjacency = sp.csr_array(adjacency + adjacency.T)
    adjacency.data[:] = 1.0
    adjacency.setdiag(0.0)
    adjacency.eliminate_zeros()
    return adjacency


def random_graph(n: int, degree: int, seed: int = 0) -> sp.csr_array:
    """About regular, unweighted, connected but for a few nodes."""
    generator = np.random.default_rng(seed)
    u, v = generator.integers(0, n, (2, n * degree // 2))
    adjacency = sp.coo_array((np.ones(len(u)), (u, v)), shape=(n, n)).tocsr()
    adjacency = sp.csr_array(adjacency + adjacency.T)
    adjacency.data[:] = 1.0
    return adjacency


def operator(adjacency: sp.csr_array, normalization: str) -> sp.csr_array:
    adjacency = sp.csr_array(adjacency - sp.diags_array(adjacency.diagonal()))
    degrees = adjacency.sum(1)
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    left, right = {
        "none": (np.ones_like(degrees), np.ones_like(degrees)),
        "sym": (np.sqrt(inverse), np.sqrt(inverse)),
        "rw": (inverse, np.ones_like(degrees)),
    }[normalization]
    difference = sp.diags_array(degrees) - adjacency
    return sp.csr_array(sp.diags_array(left) @ difference @ sp.diags_array(right))


def check_eigenpairs(adjacency, values, vectors, normalization, k, tolerance=1e-9):
    """Shapes, order, the eigenvalue equation, and lengths and angles of the vectors."""
    n = adjacency.shape[0]
    assert values.shape == (min(k, n),)
    assert vectors.shape == (n, min(k, n))
    assert values.dtype == vectors.dtype == np.float64
    assert (values >= 0).all()
    assert (np.diff(values) >= 0).all()
    matrix = operator(adjacency, normalization)
    scale = max(1.0, abs(matrix).max()) if matrix.nnz else 1.0
    residual = matrix @ vectors - vectors * values
    np.testing.assert_allclose(residual, 0.0, atol=tolerance * scale)
    if normalization == "rw":
        check_lengths(values, vectors, bound=2.0)
    else:
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(min(k, n)), atol=1e-10)
