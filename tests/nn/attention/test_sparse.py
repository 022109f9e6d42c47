"""Softmax over the entries of a row, and weighted sums."""

from __future__ import annotations

import pytest
import torch

from graphpe.nn.attention.sparse import check_softmax, softmax_by_group, weighted_sum

GROUP = torch.tensor([2, 0, 2, 2, 4, 0])
NUM_GROUPS = 6  # groups 1, 3 and 5 are empty


def weights_by_hand(logits: torch.Tensor, kind: str) -> torch.Tensor:
    if kind == "clamp":
        logits = logits.clamp(-5, 5)
    weights = torch.empty_like(logits)
    for group in range(NUM_GROUPS):
        weights[group == GROUP] = torch.softmax(logits[group == GROUP], 0)
    return weights


@pytest.mark.parametrize("kind", ["clamp", "max"])
@pytest.mark.parametrize("scale", [1.0, 10.0, 1e4])
def test_equals_the_dense_softmax(kind: str, scale: float) -> None:
    logits = scale * torch.randn(6, 3, dtype=torch.float64)
    values = torch.randn(6, 12, dtype=torch.float64)
    weights = softmax_by_group(logits, GROUP, NUM_GROUPS, kind)
    expected = weights_by_hand(logits, kind)
    torch.testing.assert_close(weights, expected)
    sums = weighted_sum(weights, values, GROUP, NUM_GROUPS)
    by_hand = torch.zeros(NUM_GROUPS, 12, dtype=torch.float64)
    for entry, group in enumerate(GROUP.tolist()):
        by_hand[group] += expected[entry].repeat_interleave(4) * values[entry]
    torch.testing.assert_close(sums, by_hand)
    assert (sums[[1, 3, 5]] == 0).all()


@pytest.mark.parametrize("kind", ["clamp", "max"])
def test_gradients(kind: str) -> None:
    logits = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    values = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)

    def attend(logits: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        weights = softmax_by_group(logits, GROUP, NUM_GROUPS, kind)
        return weighted_sum(weights, values, GROUP, NUM_GROUPS)

    assert torch.autograd.gradcheck(attend, (logits, values))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["clamp", "max"])
def test_huge_logits(kind: str, dtype: torch.dtype) -> None:
    """Logits of 10⁴, both signs, and ties: the weights of a row sum to 1, with finite gradients."""
    logits = torch.tensor([1e4, -1e4, -1e4, 1e4, -1e4, -9e3], dtype=dtype)[:, None]
    logits.requires_grad_()
    weights = softmax_by_group(logits, GROUP, NUM_GROUPS, kind)
    assert weights.dtype == dtype
    ratio = torch.tensor(-10.0 if kind == "clamp" else -2e4).exp()
    expected = torch.stack([1 / (2 + ratio), ratio / (2 + ratio), 1 / (2 + ratio), torch.tensor(1)])
    got = weights[[0, 2, 3, 4], 0]
    torch.testing.assert_close(got.float(), expected, rtol=1e-2, atol=1e-6)
    if kind == "max":
        assert weights[[1, 5], 0].tolist() == [0, 1]
    (weights * torch.arange(6, dtype=dtype)[:, None]).sum().backward()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("kind", ["clamp", "max"])
def test_many_entries_in_half_precision(kind: str) -> None:
    """In bfloat16, 256 + 1 is 256."""
    group = torch.zeros(4096, dtype=torch.long)
    weights = softmax_by_group(torch.zeros(4096, 1, dtype=torch.bfloat16), group, 1, kind)
    assert (weights == 2.0**-12).all()
    ones = torch.ones(4096, 2, dtype=torch.bfloat16)
    assert (weighted_sum(weights, ones, group, 1) == 1).all()


@pytest.mark.parametrize("kind", ["clamp", "max"])
def test_no_entries(kind: str) -> None:
    nothing = torch.empty(0, dtype=torch.long)
    logits = torch.empty(0, 2, requires_grad=True)
    weights = softmax_by_group(logits, nothing, 3, kind)
    sums = weighted_sum(weights, torch.empty(0, 4), nothing, 3)
    assert torch.equal(sums, torch.zeros(3, 4))
    sums.sum().backward()


def test_kinds() -> None:
    with pytest.raises(ValueError, match="softmax is 'sum'"):
        check_softmax("sum")
