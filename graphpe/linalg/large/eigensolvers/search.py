"""What an eigensolver is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from graphpe.linalg.large.connected_laplacian import ConnectedLaplacian


class ConvergenceError(ValueError):
    """An iterative eigensolver did not reach its tolerance."""


@dataclass(frozen=True)
class Search:
    """The smallest eigenvalues of a Laplacian on the complement of the eigenvectors known already.

    Attributes:
        wanted: Number of eigenvectors, at least 1.
        known: ``[n, l]``, orthonormal; the null vector first.
        tolerance: Largest ‖L v − λ v‖₂ of a unit vector, relative to the largest diagonal entry.
        generator: Draws the start vectors.
        near: About where the largest wanted eigenvalue is, if that is known.
        device: Where to compute, for solvers that can.
    """

    wanted: int
    known: np.ndarray
    tolerance: float
    generator: np.random.Generator
    near: float | None = None
    device: torch.device | str = "cpu"


@dataclass(frozen=True)
class Outcome:
    """Orthonormal vectors ``[n, found]`` off the known ones, whether all converged, and the effort.

    Vectors beyond the wanted ones, or that have not converged, may be among them.
    """

    vectors: np.ndarray
    converged: bool
    effort: str


Solver = Callable[[ConnectedLaplacian, Search], Outcome]
