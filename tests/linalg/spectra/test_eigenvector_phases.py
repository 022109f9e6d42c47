"""Phase conventions: the phases that a solver returned do not matter, but for the reference's rule."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from graphpe.linalg.spectra.eigenvector_phases import (
    canonical_phases,
    reference_phases,
    root_phases,
)
from graphpe.linalg.spectra.magnetic import magnetic_eigenpairs, magnetic_laplacian


def eigenvectors(count: int = 200, n: int = 10, q: float = 0.25) -> Tensor:
    """``[count, n, n]`` of random DAGs."""
    generator = torch.Generator().manual_seed(0)
    dags = (torch.rand(count, n, n, generator=generator) < 3 / n).double().triu(1)
    operator = magnetic_laplacian(dags, torch.full((count, 1), q, dtype=torch.float64))
    return magnetic_eigenpairs(operator, torch.zeros(count, n, dtype=torch.long))[1][:, 0]


def random_phases(vectors: Tensor, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    angles = (
        2 * math.pi * torch.rand(*vectors.shape[:-2], 1, vectors.shape[-1], generator=generator)
    )
    return vectors * torch.polar(torch.ones_like(angles), angles).to(vectors.dtype)


def changed(convention, vectors: Tensor) -> int:
    """How many of the graphs come out differently when the solver returns other phases."""
    difference = (convention(random_phases(vectors)) - convention(vectors)).abs()
    return int((difference.amax((-2, -1)) > 1e-6).sum())


@pytest.mark.parametrize("q", [0.02, 0.1, 0.25])
def test_phases_of_the_solver_do_not_matter(q: float) -> None:
    """Spec 1.3: with the reference's rule they changed 104 of 200 random DAGs."""
    vectors = eigenvectors(q=q)
    assert changed(canonical_phases, vectors) == 0
    assert changed(root_phases, vectors) == 0
    assert changed(reference_phases, vectors) > 50


@pytest.mark.parametrize("convention", [canonical_phases, root_phases, reference_phases])
def test_only_phases_change(convention) -> None:
    vectors = eigenvectors()
    turned = convention(vectors)
    torch.testing.assert_close(turned.abs(), vectors.abs())
    overlaps = (vectors.conj() * turned).sum(-2).abs()
    torch.testing.assert_close(overlaps, torch.ones_like(overlaps))


def test_the_entry_of_largest_modulus() -> None:
    column = torch.tensor([0.1 + 0.2j, -0.9j, 0.3], dtype=torch.complex128)
    turned = canonical_phases(column.view(1, 3, 1)).flatten()
    torch.testing.assert_close(turned, column * 1j)


@pytest.mark.parametrize("first", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_ties_do_not_depend_on_the_order(first: list[int]) -> None:
    a, b = 1.0 + 0j, 0.6 + 0.8j  # tied; the moment is between them, and b is ahead of it
    column = torch.tensor([a, b, 0.2 + 0j], dtype=torch.complex128)
    expected = column * torch.tensor(b).conj()
    turned = canonical_phases(random_phases(column[first].view(1, 3, 1))).flatten()
    torch.testing.assert_close(turned, expected[first])


def test_opposite_entries_are_settled_by_the_rest() -> None:
    column = torch.tensor([1, -1, 0.5j], dtype=torch.complex128)
    expected = canonical_phases(column.view(1, 3, 1)).flatten()
    for order in ([1, 0, 2], [2, 1, 0]):
        turned = canonical_phases(-1j * column[order].view(1, 3, 1)).flatten()
        torch.testing.assert_close(turned, expected[order])


def test_a_tournament_without_cycles_has_a_root() -> None:
    """All moduli are tied in all columns, and yet no two nodes are alike."""
    n = 5
    tournament = torch.ones(1, n, n, dtype=torch.float64).triu(1)
    operator = magnetic_laplacian(tournament, torch.full((1, 1), 0.05, dtype=torch.float64))
    vectors = magnetic_eigenpairs(operator, torch.zeros(1, n, dtype=torch.long))[1][0]
    expected = root_phases(vectors)
    order = torch.tensor([3, 1, 4, 0, 2])
    turned = root_phases(random_phases(vectors[:, order]))
    torch.testing.assert_close(turned, expected[:, order])


@pytest.mark.parametrize("convention", [canonical_phases, root_phases, reference_phases])
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 1, 1), (2, 3, 4, 2)])
def test_zeros_stay_zeros(convention, shape: tuple[int, ...]) -> None:
    zeros = torch.zeros(shape, dtype=torch.complex128)
    assert torch.equal(convention(zeros), zeros)
