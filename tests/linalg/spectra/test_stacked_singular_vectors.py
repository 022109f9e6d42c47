"""Singular value decompositions of stacks, against SciPy, and their signs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from adjacency_zoo import random_adjacency, random_stack
from hypothesis import given
from torch import Tensor

from graphpe.linalg.spectra.singular_vectors import (
    _wrong_decompositions,
    canonical_sign_pairs,
    singular_vectors,
)


@given(random_adjacency(directed=True))
def test_factors_of_any_matrix(matrix: Tensor) -> None:
    left, values, right = singular_vectors(matrix)
    largest = max(1.0, float(values[0, 0]))
    product = (left * values[:, None]) @ right.mT
    torch.testing.assert_close(product, matrix, rtol=0, atol=1e-12 * largest)
    exact = scipy.linalg.svdvals(matrix[0].numpy())
    np.testing.assert_allclose(values[0], exact, atol=1e-12 * largest)
    assert int((values > 0).sum()) == np.linalg.matrix_rank(matrix[0], tol=1e-12 * exact[0])


def test_signs_leave_the_product_and_depend_on_the_left_factor_alone() -> None:
    left, values, right = singular_vectors(random_stack(5, 9).triu())
    one_left, one_right = canonical_sign_pairs(left, right)
    flip = torch.where(torch.arange(9) % 2 == 0, -1.0, 1.0).double()
    other_left, other_right = canonical_sign_pairs(left * flip, right * flip)
    assert torch.equal(one_left, other_left)
    assert torch.equal(one_right, other_right)
    assert (one_left.gather(1, one_left.abs().argmax(1, keepdim=True)) > 0).all()
    torch.testing.assert_close(
        (one_left * values[:, None]) @ one_right.mT, (left * values[:, None]) @ right.mT
    )


def test_wrong_decompositions_are_seen() -> None:
    """As on CUDA they would be computed again."""
    matrix = random_stack(4, 7).triu()
    left, values, right = torch.linalg.svd(matrix)
    assert not _wrong_decompositions(matrix, left, values, right).any()
    left[1, :, 0] *= 1.001
    values[2, 3] += 0.01
    right[3, 0, 0] = torch.nan
    seen = _wrong_decompositions(matrix, left, values, right)
    assert seen.tolist() == [False, True, True, True]


def test_a_matrix_that_is_not_finite_is_named() -> None:
    matrix = random_stack(3, 4)
    matrix[1, 2, 2] = torch.inf
    with pytest.raises(ValueError, match="matrix 1 of the stack"):
        singular_vectors(matrix)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 37, 100])
def test_same_bytes_whatever_the_stack(n: int) -> None:
    matrix = random_stack(60 if n < 30 else 8, n).triu()
    whole = singular_vectors(matrix)
    for part in (slice(0, 1), slice(2, 7)):
        for result, wanted in zip(singular_vectors(matrix[part].clone()), whole, strict=True):
            assert torch.equal(result, wanted[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape: tuple[int, int, int]) -> None:
    left, values, right = singular_vectors(torch.zeros(shape, dtype=torch.float64))
    assert left.shape == right.shape == shape
    assert values.shape == shape[:2]
    assert not values.any()
