"""The attention of GRIT; its values are tested with the layer, in tests/nn/layers/test_grit_layer.py."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.nn.attention import pair_scores
from graphpe.nn.attention.pair_scores import attend_by_pair_scores
from graphpe.nn.layout import NodePairs, node_pairs

CHANNELS, HEADS = 6, 2


def places(*sizes: int) -> NodePairs:
    batch = Batch.from_data_list([Data(num_nodes=n) for n in sizes])
    return node_pairs(graph_layout(batch))


def inputs(pairs: NodePairs, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    shapes = [(len(pairs.start), CHANNELS)] * 3 + [(len(pairs), CHANNELS)]
    shapes += [(2 * CHANNELS, CHANNELS), (2 * CHANNELS,)]
    blocks = torch.block_diag(*torch.randn(HEADS, CHANNELS // HEADS))
    tensors = [*(torch.randn(shape) for shape in shapes), blocks]
    return [t.to(dtype).requires_grad_() for t in tensors]


def outputs_and_gradients(tensors: list[Tensor], pairs: NodePairs, dropout: float = 0) -> list:
    torch.manual_seed(0)
    outputs = attend_by_pair_scores(*tensors, pairs, dropout)
    loss = 0.01 * sum((out.double() * (1 + torch.arange(out.size(1)))).sum() for out in outputs)
    return [*outputs, *torch.autograd.grad(loss, tensors)]


@pytest.mark.parametrize("rows", [1, 9, 40])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_blocks_change_nothing(rows: int, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = places(3, 1, 0, 12, 5, 2)
    tensors = inputs(pairs)
    expected = outputs_and_gradients(tensors, pairs, dropout)
    monkeypatch.setattr(pair_scores, "_ROWS_IN_CACHE", rows)
    assert len(list(pair_scores._blocks(pairs))) > 3
    torch.testing.assert_close(outputs_and_gradients(tensors, pairs, dropout), expected)


@pytest.mark.parametrize("rows", [4, 1000])
@pytest.mark.parametrize(("dropout", "scale"), [(0.0, 1), (0.3, 1), (0.0, 20)])
def test_gradients(
    rows: int, dropout: float, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the large scale some logits are clamped."""
    monkeypatch.setattr(pair_scores, "_ROWS_IN_CACHE", rows)
    torch.manual_seed(1)  # no score so close to 0 that finite differences go wrong
    pairs = places(2, 3, 0, 1)
    *tensors, logit_weight = inputs(pairs)
    tensors.append((scale * logit_weight.detach()).requires_grad_())

    def attend(*tensors: Tensor) -> tuple[Tensor, ...]:
        torch.manual_seed(0)  # the same weights are dropped each time
        return attend_by_pair_scores(*tensors, pairs, dropout)

    assert torch.autograd.gradcheck(attend, tensors, fast_mode=True)


def test_outputs_without_use() -> None:
    """The last layer of a network uses no scores."""
    pairs = places(3, 2)
    tensors = inputs(pairs)
    for number in range(3):
        out = attend_by_pair_scores(*tensors, pairs)[number]
        gradients = torch.autograd.grad(out.sum(), tensors)
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_no_pairs() -> None:
    pairs = places(0, 0)
    scores, values, totals = attend_by_pair_scores(*inputs(pairs), pairs, 0.5)
    assert scores.shape == values.shape == totals.shape == (0, CHANNELS)
    (scores.sum() + values.sum() + totals.sum()).backward()


def test_slope_of_the_root() -> None:
    """That of the formula, except near 0, where it would be unbounded."""
    z = torch.tensor([-4.0, -1e-30, 0.0, 1e-8, 1e-6, 0.25], dtype=torch.float64)
    pairs = places(*[1] * len(z))
    query, key, value = (torch.zeros(len(z), 1, dtype=torch.float64) for _ in range(3))
    pair = z[:, None].clone().requires_grad_()
    query += 1
    # With E_w = 1 and E_b = 5, the score of (i, i) is 5 + ρ(z).
    weight = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    bias = torch.tensor([0.0, 5.0], dtype=torch.float64)
    logit_weight = torch.zeros(1, 1, dtype=torch.float64)
    scores, _, _ = attend_by_pair_scores(query, key, value, pair, weight, bias, logit_weight, pairs)
    roots = torch.tensor([-2.0, -1e-15, 0.0, 1e-4, 1e-3, 0.5], dtype=torch.float64)
    torch.testing.assert_close(scores[:, 0], 5 + roots)
    scores.sum().backward()
    slopes = torch.tensor([0.25, 500, 500, 500, 500, 1], dtype=torch.float64)
    torch.testing.assert_close(pair.grad[:, 0], slopes)


def test_dropout_keeps_the_mean() -> None:
    pairs = places(4)
    tensors = inputs(pairs)
    _, values, totals = attend_by_pair_scores(*tensors, pairs)
    drawn = [attend_by_pair_scores(*tensors, pairs, 0.25)[1:] for _ in range(500)]
    for expected, got in zip((values, totals), zip(*drawn, strict=True), strict=True):
        draws = torch.stack(got).detach()
        error = draws.std(0) / len(draws) ** 0.5
        assert ((draws.mean(0) - expected).abs() < 5 * error + 1e-9).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    """Sums over 300 nodes are made in float32."""
    pairs = places(300, 2)
    tensors = inputs(pairs, torch.float32)
    half = [t.detach().to(dtype).requires_grad_() for t in tensors]
    exact = [t.detach().double().requires_grad_() for t in half]
    got, expected = (outputs_and_gradients(t, pairs) for t in (half, exact))
    for ours, true in zip(got, expected, strict=True):
        assert ours.dtype == dtype
        assert ((ours.double() - true).norm() / true.norm()) < 0.05
