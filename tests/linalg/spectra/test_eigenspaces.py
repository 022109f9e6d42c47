"""Where eigenspaces begin, and which eigenpairs are selected."""

from __future__ import annotations

import pytest
import torch

from graphpe.linalg.spectra.eigenpair_selection import select_eigenpairs
from graphpe.linalg.spectra.eigenspaces import (
    eigenspace_numbers,
    eigenspace_starts,
    means_over_eigenspaces,
    scale_starts,
)

VALUES = torch.tensor([[0.0, 0.0, 1e-14, 0.5, 0.5 + 1e-9, 0.6, 2.0, 2.0]], dtype=torch.float64)


def test_equal_up_to_rounding_and_zeros_by_their_number():
    starts = eigenspace_starts(VALUES, torch.tensor([[2]]), 2.0)
    assert starts.int().tolist() == [[1, 0, 1, 1, 0, 1, 1, 0]]
    assert eigenspace_numbers(starts).tolist() == [[0, 0, 1, 2, 2, 3, 4, 4]]


def test_zero_modes_have_scales_of_their_own():
    starts = scale_starts(VALUES, torch.tensor([[2]]), 2.0)
    assert starts.int().tolist() == [[1, 1, 1, 1, 0, 1, 1, 0]]
    columns = torch.tensor([[[1.0, 2, 3, 4, 6, 7, 8, 2], [0, 0, 0, 1, 1, 0, 2, 4]]])
    assert means_over_eigenspaces(columns, starts).tolist() == [
        [[1, 2, 3, 5, 5, 7, 5, 5], [0, 0, 0, 1, 1, 0, 3, 3]]
    ]
    assert means_over_eigenspaces(columns[..., :0], starts[:, :0]).shape == (1, 2, 0)


def test_small_eigenvalues_with_gaps_are_told_apart():
    """The first eigenvalues of a path of 20,000 nodes are 1e-8 apart."""
    values = 1.2e-8 * torch.arange(6, dtype=torch.float64)[None] ** 2
    assert bool(eigenspace_starts(values, torch.tensor([[1]]), 2.0).all())


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1)])
def test_empty_lists(shape):
    zeros = torch.ones(shape[0], 1, dtype=torch.long)
    assert eigenspace_starts(torch.zeros(shape), zeros, 2.0).shape == shape


@pytest.mark.parametrize(
    ("first", "k", "complete", "count", "is_cut"),
    [
        (0, 1, False, 1, True),  # inside the zeros
        (0, 1, True, 0, True),
        (0, 2, True, 2, False),
        (1, 3, False, 3, True),  # inside the pair at 0.5
        (1, 3, True, 2, True),
        (2, 3, True, 3, False),
        (2, 5, True, 4, True),  # inside the pair at 2
        (2, 6, True, 6, False),  # everything: nothing is cut
        (2, 9, True, 6, False),
        (8, 2, False, 0, False),  # nothing left
    ],
)
def test_selection(first, k, complete, count, is_cut):
    vectors = torch.rand(1, 8, 8, dtype=torch.float64)
    starts = eigenspace_starts(VALUES, torch.tensor([[2]]), 2.0)
    got_vectors, got_values, got_count, got_cut = select_eigenpairs(
        VALUES, vectors, starts, torch.tensor([[first]]), k, complete
    )
    assert int(got_count) == count
    assert bool(got_cut) == is_cut
    assert torch.equal(got_values[:, :count], VALUES[:, first : first + count])
    assert torch.equal(got_vectors[..., :count], vectors[..., first : first + count])
    assert not got_values[:, count:].any()
    assert not got_vectors[..., count:].any()
