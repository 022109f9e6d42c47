"""The smallest eigenpairs of the magnetic Laplacian of one large sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import splu
from torch import Tensor

from graphpe.linalg.large.block_krylov import dominant_vectors, working_columns
from graphpe.linalg.large.complete_search import smallest_eigenpairs
from graphpe.linalg.large.components import Components
from graphpe.linalg.large.eigensolvers.search import ConvergenceError, Outcome, Search
from graphpe.linalg.large.laplacian_solvers import is_cheap_to_factor
from graphpe.linalg.spectra.magnetic import (
    Isolated,
    MagneticNormalization,
    TwoWay,
    component_order,
    cosine_and_sine,
    hopping_parts,
    magnetic_eigenpairs,
    magnetic_laplacian,
)

_STACK_ENTRIES = 2**20  # of a dense stack of small components
_SMALLEST_ITERATIVE = 300  # nodes; below, a Krylov space would hardly be smaller than the whole
_SHIFT = 1e-5  # of the inverse, relative to the largest diagonal entry
_INVERSE_TOLERANCE = 1e-10


def smallest_magnetic_eigenpairs(
    adjacency: sp.csr_array,
    potentials: Tensor,
    k: int,
    two_way: TwoWay = "binary",
    normalization: MagneticNormalization = "sym",
    isolated: Isolated = "zero",
    *,
    tolerance: float = 1e-9,
    seed: int = 0,
    dense_limit: int = 500,
    memory_budget: int = 2**30,
    name: str = "the graph",
) -> tuple[Tensor, Tensor]:
    """The k smallest eigenpairs for each potential, component by component.

    Small components are decomposed densely, in stacks. For a large one the Hermitian operator is
    taken as a real symmetric one of twice the size, whose eigenvalues are double, and given to the
    block Krylov iteration: with the inverse of L + ε where a sparse factorisation is cheap (paths,
    trees, grids), else with L turned upside down. Residuals are checked, and whether eigenvalues
    were passed over.

    Args:
        adjacency: ``[n, n]``, non-negative, row = source.
        potentials: ``[Q]`` float64.
        k: Number of pairs.
        two_way: See `graphpe.linalg.spectra.magnetic.magnetic_laplacian`.
        normalization: The same.
        isolated: The same.
        tolerance: Largest ‖L v − λ v‖₂ of a unit vector, relative to the largest diagonal entry.
        seed: Seeds the start vectors.
        dense_limit: Components with at most so many nodes are solved densely.
        memory_budget: Bytes that the work space of a component may take.
        name: What error messages call the graph.

    Returns:
        Values ``[Q, min(k, n)]``, ascending, and vectors ``[Q, n, min(k, n)]``.

    Raises:
        ValueError: If the work space of a component is over ``memory_budget``.
        ConvergenceError: If a component does not converge; names the remedy.
    """
    components = Components(adjacency, "weak")
    limit = max(dense_limit, 4 * k, _SMALLEST_ITERATIVE)
    pairs = []
    for number, q in enumerate(potentials):
        candidates = []
        for index, (place, matrix) in enumerate(components.larger_than(limit)):
            _check_memory(matrix.shape[0], k, memory_budget, name)
            operator = _HermitianOperator(matrix, q, two_way, normalization)
            generator = np.random.default_rng((seed, number, index))
            try:
                values, vectors = operator.smallest(k, tolerance, generator, memory_budget / 2)
            except ConvergenceError as error:
                raise ConvergenceError(
                    f"{name}, component of {matrix.shape[0]:,} nodes, q = {float(q):g}: {error}; raise dense_limit to "
                    f"{matrix.shape[0]} for the dense solver, or lower k"
                ) from None
            candidates.append(
                (place, torch.from_numpy(values)[None], torch.from_numpy(vectors)[None])
            )
        for place, stack in components.stacks(limit, _STACK_ENTRIES):
            dense = torch.from_numpy(stack)
            own = q.expand(len(stack), 1)
            dense = magnetic_laplacian(dense, own, two_way, normalization, isolated)
            labels = torch.zeros(dense.shape[0], dense.shape[-1], dtype=torch.long)
            values, vectors = magnetic_eigenpairs(dense, labels)
            candidates.append((place, values[:, 0, :k], vectors[:, 0, :, :k]))
        pairs.append(_smallest(candidates, components.nodes, k))
    values, vectors = zip(*pairs, strict=True)
    return torch.stack(values), torch.stack(vectors)


def large_relative_divisor(adjacency: sp.csr_array) -> float:
    """`graphpe.linalg.spectra.magnetic.relative_divisor` of one sparse graph."""
    joins = (adjacency > 0).astype(np.float64)
    one_way = abs(joins - joins.T).sum() / 2
    return max(min(float(one_way), adjacency.shape[0]), 1.0)


class _HermitianOperator:
    """The magnetic Laplacian of a connected graph as a real symmetric operator on [Re v, Im v].

    Has what `smallest_eigenpairs` asks of a Laplacian.
    """

    def __init__(
        self, adjacency: sp.csr_array, q: Tensor, two_way: TwoWay, normalization: str
    ) -> None:
        weight = adjacency.copy()
        if two_way != "binary":
            weight.setdiag(0.0)
            weight.eliminate_zeros()
        joins = (weight > 0).astype(np.float64)
        fixed, turning, skew = hopping_parts(weight, weight.T, joins, joins.T, two_way)
        degrees = (fixed + turning).sum(1)
        cosine, sine = (float(part) for part in cosine_and_sine(q))
        matrix = sp.diags_array(degrees) - (fixed + turning * cosine) - 1j * sine * skew
        if normalization == "sym":
            inverse_root = sp.diags_array(1.0 / np.sqrt(degrees))
            matrix = inverse_root @ matrix @ inverse_root
        self.matrix = sp.csr_array(matrix)
        self.unit = float(self.matrix.diagonal().real.max())

    def smallest(
        self, k: int, tolerance: float, generator: np.random.Generator, factor_memory: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values ``[k]``, ascending, and complex orthonormal vectors ``[n, k]``."""
        n = self.matrix.shape[0]
        search = Search(2 * k, np.empty((2 * n, 0)), tolerance, generator)
        pattern = sp.csr_array(abs(self.matrix))
        pattern.setdiag(0.0)
        pattern.eliminate_zeros()
        is_cheap = is_cheap_to_factor(pattern, factor_memory / 2)
        _, doubled = smallest_eigenpairs(
            self, search, self._shift_invert if is_cheap else _upside_down
        )
        # Each complex vector v is there twice, as v and i v, or as a basis of both.
        basis, _, _ = np.linalg.svd(_complex(doubled), full_matrices=False)
        basis = basis[:, :k]
        values, rotation = np.linalg.eigh(basis.conj().T @ (self.matrix @ basis))
        vectors = basis @ rotation
        residual = np.linalg.norm(self.matrix @ vectors - vectors * values, axis=0).max()
        if not residual <= 10 * tolerance * self.unit:
            raise ConvergenceError(
                f"the relative residual {residual / self.unit:.1e} is over the tolerance {10 * tolerance:.0e}"
            )
        return np.maximum(values, 0.0), vectors

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return _real(self.matrix @ _complex(vectors))

    def rayleigh_quotients(self, vectors: np.ndarray) -> np.ndarray:
        """``[p]`` of the unit columns of ``[2n, p]``."""
        return np.einsum("ij,ij->j", vectors, self(vectors))

    def residuals(self, vectors: np.ndarray, values: np.ndarray) -> np.ndarray:
        """‖L v − λ v‖₂ of each column, ``[p]``, relative to ``unit``."""
        return np.linalg.norm(self(vectors) - vectors * values, axis=0) / self.unit

    def _shift_invert(self, _: _HermitianOperator, search: Search) -> Outcome:
        shift = sp.diags_array(np.full(self.matrix.shape[0], _SHIFT * self.unit))
        factor = splu(
            sp.csc_array(self.matrix + shift),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        return dominant_vectors(
            lambda block: _real(factor.solve(_complex(block))),
            search,
            min(_INVERSE_TOLERANCE, search.tolerance),
        )


def _upside_down(operator: _HermitianOperator, search: Search) -> Outcome:
    """The largest eigenvalues of 2 max diag(L) − L."""
    bound = 2.0 * operator.unit
    return dominant_vectors(
        lambda block: bound * block - operator(block), search, search.tolerance / 2
    )


def _complex(vectors: np.ndarray) -> np.ndarray:
    """``[n, p]`` complex from ``[2n, p]``."""
    n = len(vectors) // 2
    return vectors[:n] + 1j * vectors[n:]


def _real(vectors: np.ndarray) -> np.ndarray:
    return np.concatenate([vectors.real, vectors.imag])


def _check_memory(n: int, k: int, memory_budget: int, name: str) -> None:
    needed = 8 * 2 * n * working_columns(2 * k)
    if needed > memory_budget:
        raise ValueError(
            f"{name}: {k:,} eigenvectors of a component of {n:,} nodes need {needed / 2**20:,.0f} MiB, over the "
            f"memory budget of {memory_budget / 2**20:,.0f} MiB; lower k"
        )


def _smallest(
    candidates: list[tuple[slice, Tensor, Tensor]], nodes: np.ndarray, k: int
) -> tuple[Tensor, Tensor]:
    """The k pairs with the smallest values, of all components.

    Args:
        candidates: The place of b components of equal size s in ``nodes``, values ``[b, m]`` and
            vectors ``[b, s, m]``; the largest components first.
        nodes: ``[n]``.
        k: Number of pairs.
    """
    n = len(nodes)
    k = min(k, n)
    vectors = torch.zeros(n, k, dtype=torch.complex128)
    if not candidates:
        return torch.zeros(0, dtype=torch.float64), vectors
    every = torch.cat([values.flatten() for _, values, _ in candidates])
    source = torch.cat(
        [torch.full((values.numel(),), i) for i, (_, values, _) in enumerate(candidates)]
    )
    within = torch.cat([torch.arange(values.numel()) for _, values, _ in candidates])
    # Candidates are in the order of the components, so that ties follow it.
    order = component_order(every, torch.arange(len(every)), every.max().clamp(min=1.0))[:k]
    for column, chosen in enumerate(order.tolist()):
        place, values, own = candidates[int(source[chosen])]
        component, number = divmod(int(within[chosen]), values.shape[1])
        start = place.start + component * own.shape[1]
        vectors[start : start + own.shape[1], column] = own[component, :, number]
    result = torch.empty_like(vectors)
    result[torch.from_numpy(nodes)] = vectors
    return every[order].sort().values, result
