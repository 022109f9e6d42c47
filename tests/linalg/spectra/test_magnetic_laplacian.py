"""Magnetic Laplacians as matrices: exactly Hermitian, relative potentials, components that do not mix."""

from __future__ import annotations

import pytest
import torch

from graphpe.linalg.spectra.magnetic import (
    magnetic_eigenpairs,
    magnetic_laplacian,
    relative_divisor,
)

TWO_WAY = ["binary", "phase", "average"]


def adjacencies(b: int = 6, n: int = 9) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    edges = torch.rand(b, n, n, generator=generator, dtype=torch.float64)
    return torch.where(edges < 0.25, 4 * edges + 0.1, 0.0)


@pytest.mark.parametrize("two_way", TWO_WAY)
@pytest.mark.parametrize("normalization", ["sym", "none"])
def test_exactly_hermitian_and_conjugate_in_q(two_way, normalization) -> None:
    potentials = torch.tensor([[0.0, 0.1, -0.1, 0.37, 2.5]], dtype=torch.float64).expand(6, -1)
    operator = magnetic_laplacian(adjacencies(), potentials, two_way, normalization)
    assert operator.shape == (6, 5, 9, 9)
    assert torch.equal(operator, operator.mH)
    assert torch.equal(operator[:, 1], operator[:, 2].conj().resolve_conj())
    assert not operator[:, 0].imag.any()


@pytest.mark.parametrize("two_way", TWO_WAY)
def test_the_sign_of_the_phase(two_way) -> None:
    """Row = source: the entry of u→v is −e^{i2πq} times a positive number."""
    edge = torch.zeros(1, 2, 2, dtype=torch.float64)
    edge[0, 0, 1] = 1.0
    operator = magnetic_laplacian(edge, torch.full((1, 1), 0.1, dtype=torch.float64), two_way)
    angle = torch.angle(-operator[0, 0, 0, 1])
    assert float(angle) == pytest.approx(2 * torch.pi * 0.1)


def test_relative_divisor() -> None:
    one_way = torch.zeros(4, 3, 3, dtype=torch.float64)
    one_way[1, 0, 1] = 2.0
    one_way[2, 0, 1] = one_way[2, 1, 0] = one_way[2, 2, 2] = 1.0
    one_way[3] = torch.ones(3, 3).triu(1)
    assert relative_divisor(one_way).tolist() == [1.0, 1.0, 1.0, 3.0]
    assert relative_divisor(torch.zeros(2, 0, 0)).tolist() == [1.0, 1.0]


def test_vectors_stay_in_their_components() -> None:
    """Four copies of one graph: every eigenvalue is there four times, that of the first copy first."""
    small = torch.zeros(4, 4, dtype=torch.float64)
    small[[0, 1, 2, 2], [1, 2, 0, 3]] = 1.0  # a directed triangle with a tail: a simple spectrum
    adjacency = torch.block_diag(*[small] * 4)[None]
    labels = torch.arange(4).repeat_interleave(4)[None]
    operator = magnetic_laplacian(adjacency, torch.full((1, 2), 0.1, dtype=torch.float64))
    values, vectors = magnetic_eigenpairs(operator.clone(), labels)
    alone, _ = magnetic_eigenpairs(operator[:, :, :4, :4].clone(), labels[:, :4])
    torch.testing.assert_close(values, alone.repeat_interleave(4, dim=-1))
    residual = operator @ vectors - vectors * values.unsqueeze(-2)
    assert residual.abs().max() < 1e-12
    supports = (vectors[0, 0].abs() > 0).view(4, 4, 16).any(1)
    assert torch.equal(supports, torch.eye(4, dtype=torch.bool).repeat(1, 4))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 1)])
def test_small_stacks(shape: tuple[int, int]) -> None:
    b, n = shape
    potentials = torch.full((b, 2), 0.25, dtype=torch.float64)
    operator = magnetic_laplacian(torch.zeros(b, n, n, dtype=torch.float64), potentials)
    values, vectors = magnetic_eigenpairs(operator, torch.zeros(b, n, dtype=torch.long))
    assert values.shape == (b, 2, n)
    assert vectors.shape == (b, 2, n, n)
    assert not values.any()
