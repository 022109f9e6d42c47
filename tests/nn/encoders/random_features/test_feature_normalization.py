"""Unit and orthonormal columns of each graph."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.nn.encoders.random_features.normalization import (
    map_graphs,
    negligible,
    orthonormal_columns,
    square_norms,
    unit_columns,
)
from graphpe.nn.stacks import stacks_of


def layout_of(*sizes: int):
    edge_index = torch.zeros(2, 0, dtype=torch.long)
    return graph_layout(
        Batch.from_data_list([Data(num_nodes=n, edge_index=edge_index) for n in sizes])
    )


def unit(matrices: Tensor) -> Tensor:
    return torch.nn.functional.normalize(matrices, dim=-2)


def gram_schmidt(matrix: Tensor) -> Tensor:
    """Column by column; dependent ones are zero."""
    result = torch.zeros_like(matrix)
    for number, column in enumerate(matrix.unbind(1)):
        rest = column.clone()
        for _ in range(2):
            rest = rest - result @ (result.T @ rest)
        if rest.norm() > 1e-6 * max(1e-300, column.norm()):
            result[:, number] = rest / rest.norm()
    return result


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
@pytest.mark.parametrize("shape", [(50, 8), (8, 8), (300, 16), (1, 1)])
def test_q_of_a_decomposition_with_positive_diagonal(shape, dtype, tolerance) -> None:
    torch.manual_seed(0)
    matrices = unit(torch.randn(5, *shape, dtype=dtype))
    q, r = torch.linalg.qr(matrices.double())
    expected = q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None]
    got = orthonormal_columns(matrices)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), expected, atol=50 * tolerance, rtol=0)
    error = got.double().mT @ got.double() - torch.eye(shape[1], dtype=torch.float64)
    assert float(error.abs().max()) < tolerance


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 1e-6)])
def test_ill_conditioned(dtype: torch.dtype, tolerance: float) -> None:
    """Columns at an angle of 1e-3: a single pass would lose six digits."""
    torch.manual_seed(0)
    first = torch.randn(40, 1, dtype=dtype)
    matrix = unit(first + 1e-3 * torch.randn(40, 6, dtype=dtype))
    got = orthonormal_columns(matrix)
    assert float((got.T @ got - torch.eye(6, dtype=dtype)).abs().max()) < tolerance
    expected = gram_schmidt(matrix.double()).to(dtype)
    torch.testing.assert_close(got, expected, atol=1e4 * tolerance, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_dependent_columns_become_zero(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    basis = torch.randn(9, 3, dtype=dtype)
    mixed = basis @ torch.randn(3, 4, dtype=dtype)
    zero = torch.zeros(9, 1, dtype=dtype)
    matrix = unit(torch.cat([basis[:, :1], basis[:, :1], zero, basis[:, 1:], mixed], 1))
    got = orthonormal_columns(matrix)
    assert (got == 0).all(0).tolist() == [False, True, True, False, False] + [True] * 4
    tolerance = 1e-13 if dtype == torch.float64 else 1e-6
    torch.testing.assert_close(got, gram_schmidt(matrix), atol=tolerance, rtol=0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_more_columns_than_nodes(n: int) -> None:
    torch.manual_seed(0)
    matrix = unit(torch.randn(2, 3, n, 5, dtype=torch.float64))
    got = orthonormal_columns(matrix)
    assert got.shape == matrix.shape
    expected = torch.zeros(5, dtype=torch.float64)
    expected[:n] = 1
    torch.testing.assert_close(got.mT @ got, torch.diag(expected).expand(2, 3, 5, 5))


def test_gradients() -> None:
    torch.manual_seed(0)
    matrix = unit(torch.randn(6, 3, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(orthonormal_columns, matrix)

    deficient = torch.randn(4, 6, dtype=torch.float64)
    deficient[:, 1] = deficient[:, 0]
    deficient[:, 2] = 0
    deficient.requires_grad_()
    orthonormal_columns(deficient).square().cumsum(1).sum().backward()
    assert bool(deficient.grad.isfinite().all())


def test_unit_columns() -> None:
    layout = layout_of(3, 0, 1, 4)
    columns = torch.randn(8, 2, 3, dtype=torch.float64)
    columns[3] = 0
    columns[4:, 1, 2] = 1e-14
    least = torch.full((4, 2, 3), negligible(torch.float64) ** 2, dtype=torch.float64)
    columns.requires_grad_()
    got = unit_columns(columns, least, layout)
    for start, end in ((0, 3), (3, 4), (4, 8)):
        part = columns[start:end]
        norm = part.norm(dim=0)
        expected = torch.where(norm > negligible(torch.float64), part / norm, 0)
        torch.testing.assert_close(got[start:end], expected)
    assert not got[3].any()
    assert not got[4:, 1, 2].any()
    torch.testing.assert_close(square_norms(got, layout)[0], torch.ones(2, 3, dtype=torch.float64))
    got.sum().backward()
    assert bool(columns.grad.isfinite().all())


def test_graphs_are_mapped_by_themselves() -> None:
    """In stacks of similar size, where padding is zero."""
    layout = layout_of(5, 0, 700, 1, 2, 6, 3, 0, 1)
    x = torch.randn(layout.num_nodes, 2, 3)
    seen = []

    def add_sums(stack: Tensor) -> Tensor:
        seen.append(stack.shape)
        return stack + stack.sum(2, keepdim=True)

    got = map_graphs(add_sums, x, stacks_of(layout))
    for part, result in zip(
        x.split(layout.sizes.tolist()), got.split(layout.sizes.tolist()), strict=True
    ):
        torch.testing.assert_close(result, part + part.sum(0, keepdim=True))
    assert len(seen) == 5
    assert sum(graphs * width for graphs, _, width, _ in seen) < 2 * layout.num_nodes


def test_a_batch_without_nodes_is_mapped() -> None:
    empty = torch.zeros(0, 2, 3)
    assert map_graphs(orthonormal_columns, empty, stacks_of(layout_of(0, 0))).shape == empty.shape
