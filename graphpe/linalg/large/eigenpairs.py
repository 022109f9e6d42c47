"""The smallest Laplacian eigenpairs of one large sparse graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch

from graphpe.linalg.laplacian import Normalization, check_normalization, laplacian
from graphpe.linalg.large.complete_search import smallest_eigenpairs
from graphpe.linalg.large.components import Components, SparseMatrix
from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian, rayleigh_quotients
from graphpe.linalg.large.eigensolvers.choice import (
    SolverName,
    chain,
    check_solver,
    prepared,
    working_columns,
)
from graphpe.linalg.large.eigensolvers.search import ConvergenceError, Search
from graphpe.linalg.spectra.eigenspaces import scale_starts
from graphpe.linalg.spectra.eigh import eigh, random_walk_vectors

__all__ = ["ConvergenceError", "smallest_laplacian_eigenpairs"]

_STACK_ENTRIES = 2**22  # of a dense stack of small components
_DENSE_COPIES = 6  # matrices of its size that a dense decomposition needs
_SMALLEST_ITERATIVE = 300  # nodes; below, a Krylov space would hardly be smaller than the whole


def smallest_laplacian_eigenpairs(
    adjacency: SparseMatrix,
    k: int,
    normalization: Normalization = "sym",
    *,
    solver: SolverName = "auto",
    tolerance: float = 1e-9,
    seed: int = 0,
    dense_limit: int = 500,
    memory_budget: int = 2**30,
    zero_modes: bool = True,
    device: torch.device | str = "cpu",
    name: str = "the graph",
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest eigenvalues of the Laplacian of a sparse graph, with eigenvectors.

    Every connected component is solved on its own: its zero mode in closed form, small components
    by dense decompositions of stacks, large ones by an iterative solver. Whichever it is, the
    residuals are checked, and then whether it has passed over eigenvalues (copies of repeated ones,
    mostly): what is missing is added. No n x n matrix is made. Self-loops are removed.

    Solvers of large components:
        - ``"shift-invert"``: block Krylov iteration with the pseudo-inverse, by a sparse factorisation
          where that is cheap (paths, trees, grids), else by conjugate gradients.
        - ``"chebyshev"``: subspace iteration with a Chebyshev filter, products with the matrix only:
          fast for expander-like graphs (social, citation and web graphs), on a GPU too.
        - ``"lanczos"``: ARPACK's restarted Lanczos iteration.
        - ``"lobpcg"``: preconditioned by the factorisation, or else by a polynomial.
        - ``"auto"``: shift-invert where a factorisation is cheap or the spectrum of D − A is long (a
          hub among nodes of low degree), else chebyshev; and the others if that fails.

    If there are more components than k, the zero modes of the largest components are returned,
    unless ``zero_modes=False`` leaves all of them out.

    Args:
        adjacency: ``[n, n]``, symmetric, finite, non-negative.
        k: Number of eigenpairs.
        normalization: ``"none"``, ``"sym"`` or ``"rw"``; see :func:`laplacian`.
        solver: Name of the solver for large components, see above.
        tolerance: Largest ‖L v − λ v‖₂ of a unit vector v of a large component, relative to the largest
            entry on the diagonal of L: to 1 for ``"sym"`` and ``"rw"`` (whose vectors meet it as
            eigenvectors of L_sym), to the largest degree for ``"none"``. Eigenvalues are off by no
            more, and by about its square over their distance to the next ones if these are farther.
            So it must be well below the eigenvalues that matter: long paths have tiny ones.
        seed: Seeds the start vectors: the same graph and seed give the same bytes.
        dense_limit: Components with at most so many nodes are solved densely.
        memory_budget: Bytes that the work space of one component may take.
        zero_modes: Whether the zero modes, one for each component, are among the k pairs. Without
            them the k pairs are the smallest others, and no room is taken for the zero modes.
        device: Where ``"chebyshev"`` computes; on another device than the CPU, ``"auto"`` is that.
        name: What error messages call the graph, as in ``"graph 17"``.

    Returns:
        Values ``[min(k, n)]``, ascending, and vectors ``[n, min(k, n)]``, float64; orthonormal for
        ``"none"`` and ``"sym"``. For ``"rw"`` D^{-1/2} u scaled to unit length, and where an
        eigenvalue is repeated, by the root mean square of the lengths of its vectors, of those that
        are among the k. Without zero modes n − c in place of n, for c components.

    Raises:
        ValueError: For an invalid argument, or if the work space is over ``memory_budget``.
        ConvergenceError: If a component does not converge; names the solver and the remedy.
    """
    check_normalization(normalization)
    check_solver(solver)
    if k < 0:
        raise ValueError(f"k is {k}; it must be at least 0")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be between 0 and 1")
    device = torch.device(device)
    if device.type != "cpu" and solver not in ("auto", "chebyshev"):
        raise ValueError(
            f"device is {str(device)!r}, but solver={solver!r} runs on the CPU only; "
            "take solver='chebyshev'"
        )
    components = Components(_simple_adjacency(adjacency, name), "weak")
    n, count = len(components.nodes), len(components.sizes)
    k = min(k, n if zero_modes else n - count)
    known = min(k, count) if zero_modes else 0
    degrees = components.matrix.sum(1)
    scale = np.ones(n) if normalization == "none" else np.sqrt(np.where(degrees > 0, degrees, 1.0))

    candidates = []
    if k > known:
        iterative = _Iterative(solver, tolerance, seed, memory_budget, device, name)
        candidates = _nontrivial_pairs(components, k - known, scale, dense_limit, iterative)

    vectors = np.zeros((n, k))  # in the order of components.nodes
    for j in range(known):
        place = slice(components.starts[j], components.starts[j] + components.sizes[j])
        vectors[place, j] = scale[place] / np.linalg.norm(scale[place])
    if candidates:
        _select_smallest(candidates, vectors[:, known:])
    values = np.zeros(k)
    values[known:] = rayleigh_quotients(components.matrix, vectors[:, known:] / scale[:, None])
    ascending = np.argsort(values, kind="stable")
    values, vectors = values[ascending], vectors[:, ascending]
    if normalization == "rw":
        starts = scale_starts(torch.from_numpy(values)[None], torch.tensor([[known]]), 2.0)
        stack, degrees = torch.from_numpy(vectors)[None], torch.from_numpy(scale**2)[None]
        vectors = random_walk_vectors(stack, degrees, starts)[0].numpy()
    result = np.empty_like(vectors)
    result[components.nodes] = vectors
    return values, result


# The place of b components of equal size s, the values [b, m] and the vectors [b, s, m].
_Candidates = tuple[slice, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Iterative:
    """Solves large components one by one."""

    solver: SolverName
    tolerance: float
    seed: int
    memory_budget: int
    device: torch.device
    name: str

    def __call__(
        self, index: int, laplacian: ConnectedLaplacian, wanted: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The smallest nonzero pairs of the component of that index."""
        n = len(laplacian.scale)
        factor_memory = self.memory_budget / 2
        solvers = chain(self.solver, laplacian, factor_memory, self.device.type == "cpu")
        needed = {solver: 8 * n * working_columns(solver, wanted) for solver in solvers}
        if needed[solvers[0]] > self.memory_budget:
            solver = f"work space for solver={solvers[0]!r}"
            raise _over_budget(self.name, wanted, n, solver, needed[solvers[0]], self.memory_budget)
        failures = []
        for solver in solvers:
            if needed[solver] > self.memory_budget:
                continue
            search = Search(
                wanted,
                laplacian.null_vector[:, None],
                self.tolerance,
                np.random.default_rng((self.seed, index)),
                device=self.device,
            )
            try:
                return smallest_eigenpairs(
                    laplacian, search, prepared(solver, laplacian, factor_memory)
                )
            except ConvergenceError as error:
                failures.append(f"solver {solver!r}: {error}")
        other = "" if self.solver == "auto" else "take solver='auto', "
        raise ConvergenceError(
            f"{self.name}, component of {n:,} nodes, {'; '.join(failures)}; {other}raise dense_limit "
            f"to {n} for the dense solver, raise tolerance, or lower k"
        )


def _nontrivial_pairs(
    components: Components,
    wanted: int,
    scale: np.ndarray,
    dense_limit: int,
    iterative: _Iterative,
) -> list[_Candidates]:
    """The smallest nonzero pairs of each component, as many as may be wanted of it."""
    limit = max(dense_limit, 4 * wanted, _SMALLEST_ITERATIVE)
    largest_dense = int(components.sizes[components.sizes <= limit].max(initial=0))
    needed = 8 * _DENSE_COPIES * largest_dense**2
    if needed > iterative.memory_budget:
        solver = "a dense solver for so many"
        raise _over_budget(
            iterative.name, wanted, largest_dense, solver, needed, iterative.memory_budget
        )
    candidates = []
    for index, (place, adjacency) in enumerate(components.larger_than(limit)):
        laplacian = ConnectedLaplacian(adjacency, scale[place])
        values, vectors = iterative(index, laplacian, wanted)
        candidates.append((place, values[None], vectors[None]))
    for place, stack in components.stacks(limit, _STACK_ENTRIES):
        if stack.shape[1] > 1:
            values, vectors = _decompose(stack, scale[place].reshape(stack.shape[:2]), wanted)
            candidates.append((place, values, vectors))
    return candidates


def _over_budget(
    name: str, wanted: int, n: int, solver: str, needed: float, budget: float
) -> ValueError:
    return ValueError(
        f"{name}: {wanted:,} eigenvectors of a component of {n:,} nodes need {solver} and "
        f"{_mib(needed)}, over the memory budget of {_mib(budget)}; raise memory_budget or lower k"
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
