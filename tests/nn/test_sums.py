"""Sums of rows by group."""

from __future__ import annotations

import pytest
import torch

from graphpe.nn.sums import mean_by_group, sum_by_group


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64]
)
def test_sums_of_many_rows(dtype: torch.dtype) -> None:
    """In half precision, 3,000 ones and more would stop at 256 or 2,048."""
    group = torch.cat([torch.zeros(3000, dtype=torch.long), torch.tensor([2, 2])])
    got = sum_by_group(torch.ones(3002, 2, dtype=dtype), group, 4)
    assert got.dtype == dtype
    expected = torch.tensor([3000, 0, 2, 0])[:, None].expand(4, 2).to(dtype)
    assert torch.equal(got, expected)


def test_another_dimension_and_no_rows() -> None:
    values = torch.arange(12.0).view(2, 3, 2)
    got = sum_by_group(values, torch.tensor([1, 0, 1]), 2, dim=1)
    assert torch.equal(got[:, 1], values[:, 0] + values[:, 2])
    assert torch.equal(got[:, 0], values[:, 1])
    empty = torch.zeros(0, 3, dtype=torch.bfloat16)
    assert torch.equal(
        sum_by_group(empty, torch.zeros(0, dtype=torch.long), 2), empty.new_zeros(2, 3)
    )


def test_means_of_groups() -> None:
    """Also of a group without rows, and of many equal numbers in bfloat16."""
    values = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    group = torch.tensor([0, 0, 2])
    expected = torch.tensor([[2.0, 4.0], [0.0, 0.0], [5.0, 7.0]])
    assert torch.equal(mean_by_group(values, group, 3), expected)
    many = torch.ones(1000, 1, dtype=torch.bfloat16)
    assert mean_by_group(many, torch.zeros(1000, dtype=torch.long), 1).item() == 1
