"""The smallest Laplacian eigenpairs of one large sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from graphpe.linalg.eigh import eigh
from graphpe.linalg.laplacian import Normalization, check_normalization, laplacian
from graphpe.linalg.large.block_krylov import dominant_vectors, working_columns
from graphpe.linalg.large.components import Components, SparseMatrix
from graphpe.linalg.large.laplacian_solvers import (
    ConjugateGradients,
    GroundedFactor,
    is_cheap_to_factor,
)
from graphpe.linalg.large.spectral_operators import LowPassFilter, PseudoInverse, SpectralOperator

_STACK_ENTRIES = 2**22  # of a dense stack of small components
_DENSE_COPIES = 6  # matrices of its size that a dense decomposition needs
_SMALLEST_ITERATIVE = 300  # nodes; below, a Krylov space would hardly be smaller than the whole
# D − A of a graph with a hub: its spectrum reaches so far (in mean degrees) that a filter is slow
_LONG_SPECTRUM = 200.0
_RESIDUAL_TOLERANCE = 1e-8  # relative to the bound of the spectrum


class ConvergenceError(ValueError):
    """An iterative eigensolver did not reach its tolerance."""


def smallest_laplacian_eigenpairs(
    adjacency: SparseMatrix,
    k: int,
    normalization: Normalization = "sym",
    *,
    seed: int = 0,
    dense_limit: int = 500,
    memory_budget: int = 2**30,
    name: str = "the graph",
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest eigenvalues of the Laplacian of a sparse graph, with eigenvectors.

    Every connected component is solved on its own: its zero mode in closed form, small components
    by dense decompositions of stacks, large ones by block Krylov iteration with the pseudo-inverse
    (sparse factorisation where that is cheap, as for paths, trees and grids) or with a Chebyshev
    filter or conjugate gradients (expander-like graphs). Repeated eigenvalues have all their
    copies. No n x n matrix is made. Self-loops are removed.

    If there are more components than k, the zero modes of the largest components are returned.

    Args:
        adjacency: ``[n, n]``, symmetric, finite, non-negative.
        k: Number of eigenpairs.
        normalization: ``"none"``, ``"sym"`` or ``"rw"``; see :func:`laplacian`.
        seed: Seeds the start vectors: the same graph and seed give the same bytes.
        dense_limit: Components with at most so many nodes are solved densely.
        memory_budget: Bytes that the work space of one component may take.
        name: What error messages call the graph, as in ``"graph 17"``.

    Returns:
        Values ``[min(k, n)]``, ascending, and vectors ``[n, min(k, n)]``, float64; orthonormal for
        ``"none"`` and ``"sym"``, and for ``"rw"`` D^{-1/2} u scaled to unit length.

    Raises:
        ValueError: For an invalid argument, or if the work space is over ``memory_budget``.
        ConvergenceError: If a component does not converge.
    """
    check_normalization(normalization)
    if k < 0:
        raise ValueError(f"k is {k}; it must be at least 0")
    components = Components(_simple_adjacency(adjacency, name), "weak")
    n, count = len(components.nodes), len(components.sizes)
    k = min(k, n)
    degrees = components.matrix.sum(1)
    scale = np.ones(n) if normalization == "none" else np.sqrt(np.where(degrees > 0, degrees, 1.0))

    candidates = []
    if k > count:
        candidates = _nontrivial_pairs(
            components, k - count, scale, seed, dense_limit, memory_budget, name
        )

    vectors = np.zeros((n, k))  # in the order of components.nodes
    for j in range(min(k, count)):
        place = slice(components.starts[j], components.starts[j] + components.sizes[j])
        vectors[place, j] = scale[place] / np.linalg.norm(scale[place])
    if candidates:
        _select_smallest(candidates, vectors[:, count:])
    values = np.zeros(k)
    values[count:] = _rayleigh_quotients(components.matrix, vectors[:, count:] / scale[:, None])
    ascending = np.argsort(values, kind="stable")
    if normalization == "rw":
        vectors /= scale[:, None]
        vectors /= np.linalg.norm(vectors, axis=0)
    result = np.empty_like(vectors)
    result[components.nodes] = vectors[:, ascending]
    return values[ascending], result


# The place of b components of equal size s, the values [b, m] and the vectors [b, s, m].
_Candidates = tuple[slice, np.ndarray, np.ndarray]


def _nontrivial_pairs(
    components: Components,
    wanted: int,
    scale: np.ndarray,
    seed: int,
    dense_limit: int,
    memory_budget: int,
    name: str,
) -> list[_Candidates]:
    """The smallest nonzero pairs of each component, as many as may be wanted of it."""
    limit = max(dense_limit, 4 * wanted, _SMALLEST_ITERATIVE)
    _check_memory(components, wanted, limit, memory_budget, name)
    candidates = []
    for index, (place, adjacency) in enumerate(components.larger_than(limit)):
        generator = np.random.default_rng((seed, index))
        values, vectors = _iterate(
            adjacency, wanted, scale[place], generator, memory_budget / 2, name
        )
        candidates.append((place, values[None], vectors[None]))
    for place, stack in components.stacks(limit, _STACK_ENTRIES):
        if stack.shape[1] > 1:
            values, vectors = _decompose(stack, scale[place].reshape(stack.shape[:2]), wanted)
            candidates.append((place, values, vectors))
    return candidates


def _check_memory(
    components: Components, wanted: int, limit: int, memory_budget: int, name: str
) -> None:
    """Refuses early what would take too much memory: the largest component of either kind."""
    for is_dense in (False, True):
        sizes = components.sizes[(components.sizes <= limit) == is_dense]
        largest = int(sizes.max(initial=0))
        columns = _DENSE_COPIES * largest if is_dense else working_columns(wanted)
        needed = 8 * largest * columns
        if needed > memory_budget:
            solver = "a dense solver for so many" if is_dense else "a Krylov space"
            raise ValueError(
                f"{name}: {wanted:,} eigenvectors of a component of {largest:,} nodes need {solver} "
                f"and {_mib(needed)}, over the memory budget of {_mib(memory_budget)}; "
                "raise memory_budget or lower k"
            )


def _decompose(stack: np.ndarray, scale: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest nonzero pairs of connected graphs by dense decomposition."""
    operator = laplacian(torch.from_numpy(stack), "none")
    operator /= torch.from_numpy(scale[:, :, None] * scale[:, None, :])
    null_vectors = torch.from_numpy(scale / np.linalg.norm(scale, axis=1, keepdims=True))
    # the zero mode, known already, goes to the far end of the spectrum
    far = 2.0 * operator.abs().sum(-1).amax(-1)[:, None, None]
    operator += far * null_vectors.unsqueeze(-1) * null_vectors.unsqueeze(-2)
    values, vectors = eigh(operator)
    wanted = min(wanted, stack.shape[1] - 1)
    return values[:, :wanted].numpy(), vectors[:, :, :wanted].numpy()


def _iterate(
    adjacency: sp.csr_array,
    wanted: int,
    scale: np.ndarray,
    generator: np.random.Generator,
    memory: float,
    name: str,
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest nonzero pairs of one connected graph by block Krylov iteration."""
    degrees = adjacency.sum(1)
    inverse_scale = sp.diags_array(1.0 / scale)
    operator = inverse_scale @ (sp.diags_array(degrees) - adjacency) @ inverse_scale
    operator = operator.tocsr()
    bound = 2.0 * (degrees / scale**2).max()  # as L ≤ 2 D
    outcome = dominant_vectors(
        _choose(adjacency, operator, scale, bound, memory),
        lambda vectors: _rayleigh_quotients(adjacency, vectors / scale[:, None]),
        scale / np.linalg.norm(scale),
        wanted,
        generator,
    )
    vectors = outcome.vectors
    values = _rayleigh_quotients(adjacency, vectors / scale[:, None])
    ascending = np.argsort(values, kind="stable")[:wanted]
    values, vectors = values[ascending], vectors[:, ascending]
    residual = outcome.residual
    if outcome.converged:
        residual = np.abs(operator @ vectors - vectors * values).max() / bound
    if not outcome.converged or residual > _RESIDUAL_TOLERANCE:
        raise ConvergenceError(
            f"{name}: {vectors.shape[1]} of {wanted} eigenvectors of a component of "
            f"{len(scale):,} nodes converged in {outcome.steps} block steps (relative residual "
            f"{residual:.1e}); raise dense_limit to {len(scale)} for the dense solver, or lower k"
        )
    return values, vectors


def _choose(
    adjacency: sp.csr_array,
    operator: sp.csr_array,
    scale: np.ndarray,
    bound: float,
    memory: float,
) -> SpectralOperator:
    if is_cheap_to_factor(adjacency, memory):
        return PseudoInverse(GroundedFactor(adjacency), scale)
    if bound > _LONG_SPECTRUM * operator.diagonal().mean():
        return PseudoInverse(ConjugateGradients(adjacency), scale)
    return LowPassFilter(operator, bound)


def _rayleigh_quotients(adjacency: sp.csr_array, potentials: np.ndarray) -> np.ndarray:
    """Σ_{u<v} w_uv (y_u − y_v)² of each column y: no cancellation, so tiny eigenvalues are right."""
    edges = sp.triu(adjacency, k=1).tocoo()
    return np.array([edges.data @ (y[edges.row] - y[edges.col]) ** 2 for y in potentials.T])


def _select_smallest(candidates: list[_Candidates], vectors: np.ndarray) -> None:
    """Writes the candidates with the smallest values into the columns of ``vectors`` ``[n, k]``."""
    values = np.concatenate([values.ravel() for _, values, _ in candidates])
    offsets = np.cumsum([0] + [values.size for _, values, _ in candidates])
    for j, chosen in enumerate(np.argsort(values, kind="stable")[: vectors.shape[1]]):
        which = int(np.searchsorted(offsets, chosen, side="right")) - 1
        place, own_values, own_vectors = candidates[which]
        component, column = divmod(int(chosen - offsets[which]), own_values.shape[1])
        size = own_vectors.shape[1]
        start = place.start + component * size
        vectors[start : start + size, j] = own_vectors[component, :, column]


def _simple_adjacency(adjacency: SparseMatrix, name: str) -> sp.csr_array:
    """A checked copy without self-loops, parallel entries and explicit zeros."""
    result = sp.csr_array(adjacency, dtype=np.float64, copy=True)
    if result.shape[0] != result.shape[1]:
        raise ValueError(
            f"{name}: the adjacency matrix has shape {result.shape}; it must be square"
        )
    result.sum_duplicates()
    if not np.isfinite(result.data).all() or (result.data < 0).any():
        raise ValueError(f"{name}: edge weights must be finite and non-negative")
    asymmetry = abs(result - result.T).max() if result.nnz else 0.0
    if asymmetry > 1e-12 * result.data.max(initial=0.0):
        raise ValueError(
            f"{name}: the adjacency matrix is not symmetric; symmetrise the graph first"
        )
    edges = result.tocoo()
    kept = (edges.row != edges.col) & (edges.data > 0)
    return sp.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=result.shape)


def _mib(number_of_bytes: float) -> str:
    return f"{number_of_bytes / 2**20:,.0f} MiB"
