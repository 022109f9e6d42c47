"""Which eigensolver for which graph, and the memory each takes."""

from __future__ import annotations

from typing import Literal, get_args

from graphpe.linalg.large import block_krylov
from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian
from graphpe.linalg.large.eigensolvers.chebyshev import chebyshev, guards
from graphpe.linalg.large.eigensolvers.lanczos import lanczos
from graphpe.linalg.large.eigensolvers.lobpcg import lobpcg, polynomial_preconditioner
from graphpe.linalg.large.eigensolvers.search import Solver
from graphpe.linalg.large.eigensolvers.shift_invert import PseudoInverse, shift_invert
from graphpe.linalg.large.laplacian_solvers import (
    ConjugateGradients,
    GroundedFactor,
    is_cheap_to_factor,
)

NamedSolver = Literal["lanczos", "shift-invert", "lobpcg", "chebyshev"]
SolverName = Literal["auto", "lanczos", "shift-invert", "lobpcg", "chebyshev"]

# D − A of a graph with a hub: its spectrum reaches so far (in mean degrees) that products with the
# matrix alone are slow
_LONG_SPECTRUM = 200.0


def check_solver(solver: str) -> None:
    """Raises a ValueError for an unknown name."""
    if solver not in get_args(SolverName):
        names = ", ".join(map(repr, get_args(SolverName)))
        raise ValueError(f"solver is {solver!r}; it must be one of {names}")


def working_columns(solver: NamedSolver, wanted: int) -> int:
    """Number of float64 columns of length n that a solver holds at once."""
    return {
        "lanczos": 3 * wanted + max(2 * wanted, 40) + 8,
        "shift-invert": block_krylov.working_columns(wanted),
        "lobpcg": wanted + 12 * (wanted + 8),
        "chebyshev": 2 * wanted + 6 * (wanted + guards(wanted)),
    }[solver]


def chain(
    solver: SolverName, laplacian: ConnectedLaplacian, factor_memory: float, on_cpu: bool
) -> tuple[NamedSolver, ...]:
    """The solvers to try, one after the other: what was named alone, or the likely fastest first."""
    if solver != "auto":
        return (solver,)
    if not on_cpu:
        return ("chebyshev",)
    is_long = laplacian.unit > _LONG_SPECTRUM / 2 * laplacian.matrix.diagonal().mean()
    if is_long or is_cheap_to_factor(laplacian.adjacency, factor_memory):
        return ("shift-invert", "chebyshev", "lanczos")
    return ("chebyshev", "shift-invert", "lanczos")


def prepared(name: NamedSolver, laplacian: ConnectedLaplacian, factor_memory: float) -> Solver:
    """The solver, with what it has to know of the matrix: a factorisation or a preconditioner."""
    if name == "chebyshev":
        return chebyshev
    if name == "lanczos":
        return lanczos
    is_cheap = is_cheap_to_factor(laplacian.adjacency, factor_memory)
    if name == "shift-invert":
        solve = (GroundedFactor if is_cheap else ConjugateGradients)(laplacian.adjacency)
        return lambda laplacian, search: shift_invert(laplacian, search, solve)
    if is_cheap:
        inverse = PseudoInverse(GroundedFactor(laplacian.adjacency), laplacian.scale)
    else:
        inverse = polynomial_preconditioner(laplacian)
    return lambda laplacian, search: lobpcg(laplacian, search, inverse)
