"""Linear combinations of the entries of V diag(w) Vᴴ, in blocks."""

from __future__ import annotations

import pytest
import torch
from nn_batches import largest_error
from torch import Tensor

from graphpe.nn.encoders.spectral import hermitian_products as module
from graphpe.nn.encoders.spectral.hermitian_products import hermitian_products
from graphpe.nn.layout import GraphLayout, node_pairs

# From 32 on, graphs of nearly the same size are padded to one another: 33 and 34, 64 to 67.
SIZES = [3, 0, 1, 33, 2, 34, 3, 65, 0, 67, 34]


def layout_of(sizes: list[int]) -> GraphLayout:
    counts = torch.tensor(sizes, dtype=torch.long)
    ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return GraphLayout(torch.repeat_interleave(torch.arange(len(sizes)), counts), ptr)


def inputs(sizes: list[int], potentials: int, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random V and w, zero where a graph has fewer than k eigenvectors, and mixing to 3 channels from 2."""
    torch.manual_seed(0)
    vectors = torch.randn(sum(sizes), potentials, k, dtype=torch.complex128)
    weights = torch.randn(len(sizes), potentials, k, 2, dtype=torch.float64)
    layout = layout_of(sizes)
    valid = torch.arange(k) < layout.sizes[:, None]
    vectors *= valid[layout.batch][:, None]
    weights *= valid[:, None, :, None]
    return vectors, weights, torch.randn(3, 4 * potentials, dtype=torch.float64)


def by_the_formula(sizes: list[int], vectors: Tensor, weights: Tensor, mixing: Tensor) -> Tensor:
    rows = []
    for own, weight in zip(vectors.split(sizes), weights, strict=True):
        products = [
            own[:, q] @ torch.diag(weight[q, :, m]).to(own.dtype) @ own[:, q].conj().t()
            for q in range(own.size(1))
            for m in range(2)
        ]
        channels = [w.real for w in products] + [w.imag for w in products]
        rows.append(torch.stack(channels, -1).flatten(0, 1) @ mixing.t())
    return torch.cat(rows)


@pytest.mark.parametrize("numbers_in_block", [1, 70, 2_000, 2**18])
@pytest.mark.parametrize(("potentials", "k"), [(1, 1), (2, 5), (1, 80)])
def test_equals_the_formula_whatever_the_blocks(
    numbers_in_block: int, potentials: int, k: int, monkeypatch
) -> None:
    sizes = SIZES[:7] if numbers_in_block == 1 else SIZES
    monkeypatch.setattr(module, "_BLOCK_ON_CPU", numbers_in_block * potentials * min(k, 3))
    layout = layout_of(sizes)
    given = [value.requires_grad_() for value in inputs(sizes, potentials, k)]
    got = hermitian_products(*given, layout, node_pairs(layout))
    expected = by_the_formula(sizes, *given)
    assert largest_error(got, expected) < 1e-12
    direction = torch.randn_like(expected)
    for mine, theirs in zip(
        torch.autograd.grad((got * direction).sum(), given),
        torch.autograd.grad((expected * direction).sum(), given),
        strict=True,
    ):
        assert (
            largest_error(
                torch.view_as_real(mine) if mine.is_complex() else mine,
                torch.view_as_real(theirs) if theirs.is_complex() else theirs,
            )
            < 1e-12
        )


@pytest.mark.parametrize("sizes", [[3, 1, 0, 2], [33, 34]])
def test_gradients_are_those_of_differences(sizes: list[int]) -> None:
    layout = layout_of(sizes)
    pairs = node_pairs(layout)
    given = [value.requires_grad_() for value in inputs(sizes, 2, 3)]
    assert torch.autograd.gradcheck(
        lambda *values: hermitian_products(*values, layout, pairs), given, fast_mode=True
    )


def test_gradients_only_where_they_are_needed() -> None:
    layout = layout_of([3, 4])
    vectors, weights, mixing = inputs([3, 4], 2, 3)
    hermitian_products(
        vectors, weights.requires_grad_(), mixing, layout, node_pairs(layout)
    ).sum().backward()
    assert bool((weights.grad != 0).any())
    weights.requires_grad_(False)
    vectors.requires_grad_()
    hermitian_products(vectors, weights, mixing, layout, node_pairs(layout)).sum().backward()
    assert bool((vectors.grad != 0).any())


def test_autocast_changes_nothing() -> None:
    """Sums of so many products are not made in half precision, forwards or backwards."""
    layout = layout_of([3, 4])
    pairs = node_pairs(layout)
    vectors, weights, mixing = inputs([3, 4], 2, 3)
    given = vectors.to(torch.complex64), weights.float(), mixing.float()
    results = []
    for enabled in (False, True):
        leaves = [value.detach().clone().requires_grad_() for value in given]
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            output = hermitian_products(*leaves, layout, pairs)
            output.backward(torch.ones_like(output))
        results.append([output, leaves[0].grad])
    for without, within in zip(*results, strict=True):
        assert torch.allclose(without, within, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_no_nodes(sizes: list[int]) -> None:
    layout = layout_of(sizes)
    given = [value.requires_grad_() for value in inputs(sizes, 2, 3)]
    got = hermitian_products(*given, layout, node_pairs(layout))
    assert got.shape == (0, 3)
    got.sum().backward()
    assert all(bool((value.grad == 0).all()) for value in given)


def test_classes_of_sizes() -> None:
    """Exact up to 31; above, at most 1/16 wide, so that few classes hold all sizes and little is padded."""
    sizes = torch.arange(5_000)
    classes = module._size_classes(sizes)
    assert torch.equal(classes[:32], sizes[:32])
    assert bool((classes >= sizes).all())
    assert bool((classes - sizes < (sizes / 16).clamp(min=1)).all())
    assert len(classes.unique()) < 32 + 8 * 17
