"""Attention of each node to all nodes of its graph."""

from __future__ import annotations

import math

import pytest
import torch
from nn_batches import batch_of
from torch import Tensor

from graphpe.nn import graph_layout
from graphpe.nn.attention import AttentionPlaces, DenseAttention
from graphpe.nn.attention.recomputed import recomputed_attention
from graphpe.nn.stacks import stacks_of

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "grid, larger")
SIZES = (6, 0, 1, 5, 2, 30)
PAIRS = sum(n * n for n in SIZES)


def places_of(tokens: bool = False, encodings: tuple[Tensor, ...] = (), **more) -> AttentionPlaces:
    layout = graph_layout(batch_of(*NAMES))
    stacks = stacks_of(layout, tokens, bool(encodings))
    return AttentionPlaces(layout, tokens, stacks, encodings, **more)


def attention_by_hand(
    attention: DenseAttention, x: Tensor, places: AttentionPlaces, structure: Tensor | None = None
) -> Tensor:
    """Graph by graph, head by head, node by node."""
    attended, width = torch.zeros_like(x), x.size(1) // attention.heads
    (q, k, v), (b, c, d) = attention.project.weight.chunk(3), attention.project.bias.chunk(3)
    structure = x if structure is None else structure
    query, key, value = structure @ q.t() + b, structure @ k.t() + c, x @ v.t() + d
    if places.angles is not None:
        query, key = turn(query, places.angles, width), turn(key, places.angles, width)
    node, pair = 0, 0
    for number, n in enumerate(SIZES):
        rows = list(range(node, node + n)) + ([sum(SIZES) + number] if places.tokens else [])
        for head in range(attention.heads):
            part = slice(head * width, (head + 1) * width)
            for a, i in enumerate(rows):
                logits = []
                for b, j in enumerate(rows):
                    logit = query[i, part] @ key[j, part] / math.sqrt(width)
                    for linear, encoding in zip(
                        attention.pair_bias, places.pair_encodings, strict=True
                    ):
                        if a < n and b < n:
                            logit = logit + linear(encoding[pair + a * n + b])[head]
                    logits.append(logit)
                weights = torch.stack(logits).softmax(0)
                attended[i, part] = (weights[:, None] * value[rows][:, part]).sum(0)
        node, pair = node + n, pair + n * n
    return attention.output(attended)


def turn(x: Tensor, angles: Tensor, width: int) -> Tensor:
    """Rotates channels m and m + d/2 of each head by a matrix."""
    turned, half = x.clone(), width // 2
    for row, all_angles in enumerate(angles):
        for number, angle in enumerate(all_angles):
            head, m = divmod(number, half)
            a = head * width + m
            matrix = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
            turned[row, [a, a + half]] = matrix @ x[row, [a, a + half]]
    return turned


@pytest.mark.parametrize("widths", [(), (3,), (3, 1)])
@pytest.mark.parametrize("tokens", [False, True])
@torch.no_grad()
def test_equals_the_formula(tokens: bool, widths: tuple[int, ...]) -> None:
    attention = DenseAttention(8, 2, widths).double()
    x = 2 * torch.randn(sum(SIZES) + len(SIZES) * tokens, 8).double()
    places = places_of(tokens, tuple(torch.randn(PAIRS, width).double() for width in widths))
    torch.testing.assert_close(attention(x, places), attention_by_hand(attention, x, places))


@pytest.mark.parametrize("tokens", [False, True])
@torch.no_grad()
def test_angles_rotate_queries_and_keys(tokens: bool) -> None:
    attention = DenseAttention(8, 2, (3,)).double()
    rows = sum(SIZES) + len(SIZES) * tokens
    x, angles = 2 * torch.randn(rows, 8).double(), 3 * torch.randn(rows, 4).double()
    encodings = (torch.randn(PAIRS, 3).double(),)
    places = places_of(tokens, encodings, angles=angles)
    got = attention(x, places)
    torch.testing.assert_close(got, attention_by_hand(attention, x, places))
    plain = attention(x, places_of(tokens, encodings))
    assert not torch.allclose(plain, got)
    unturned = attention(x, places_of(tokens, encodings, angles=torch.zeros_like(angles)))
    torch.testing.assert_close(unturned, plain)


@torch.no_grad()
def test_queries_and_keys_may_come_from_elsewhere() -> None:
    attention = DenseAttention(8, 2).double()
    x, structure = torch.randn(2, sum(SIZES), 8).double()
    places = places_of()
    expected = attention_by_hand(attention, x, places, structure)
    torch.testing.assert_close(attention(x, places, structure), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_with_a_bias_equal_those_of_the_formula(dtype: torch.dtype) -> None:
    attention = DenseAttention(8, 2, (3, 1)).to(dtype)
    x = torch.randn(sum(SIZES), 8, dtype=dtype, requires_grad=True)
    encodings = tuple(torch.randn(PAIRS, c, dtype=dtype, requires_grad=True) for c in (3, 1))
    towards = torch.randn(sum(SIZES), 8, dtype=dtype)
    inputs = (x, *encodings, *attention.parameters())
    places = places_of(encodings=encodings)
    got = torch.autograd.grad(attention(x, places), inputs, towards)
    expected = torch.autograd.grad(attention_by_hand(attention, x, places), inputs, towards)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7 if dtype.itemsize == 8 else 1e-4)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_gradients_of_recomputed_attention(bias: bool, dropout: float) -> None:
    query, key, value = torch.randn(3, 2, 2, 4, 3).double().requires_grad_().unbind()
    valid = torch.tensor([[True] * 4, [True, True, False, False]])
    more = (torch.randn(2, 3).double().requires_grad_(), torch.randn(2, 3, 16).double())
    more[1].requires_grad_()

    def attend(*inputs: Tensor) -> Tensor:
        torch.manual_seed(0)  # the same weights are dropped each time
        return recomputed_attention(
            *inputs[:3], valid, *(inputs[3:] or (None, None)), dropout=dropout
        )

    inputs = (query, key, value, *(more if bias else ()))
    assert torch.autograd.gradcheck(attend, inputs)


@pytest.mark.parametrize("bias", [False, True])
def test_dropout_of_weights(bias: bool) -> None:
    """Expectation and share: weights are dropped one by one, and the others grow."""
    encodings = (torch.randn(PAIRS, 3),) if bias else ()
    attention = DenseAttention(8, 2, (3,) if bias else (), dropout=0.25)
    places, x = places_of(encodings=encodings), torch.randn(sum(SIZES), 8)
    kept = DenseAttention(8, 2, (3,) if bias else ())
    kept.load_state_dict(attention.state_dict())
    assert torch.equal(attention.eval()(x, places), kept(x, places))
    attention.train()
    with torch.no_grad():
        mean = torch.stack([attention(x, places) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(mean, kept(x, places), rtol=0, atol=0.1)

    # The value of a node alone is kept as a whole or not at all.
    ones = torch.zeros(1, 1, 1000, 1), torch.zeros(1, 1, 1000, 1), torch.ones(1, 1, 1000, 1)
    shares = recomputed_attention(*ones, None, dropout=0.25)
    torch.testing.assert_close(shares.mean(), torch.tensor(1.0), rtol=0, atol=0.01)
    assert 0.008 < shares.std() < 0.028  # sqrt(0.25 / 0.75 / 1000) = 0.018


def saved_bytes(attention: DenseAttention, x: Tensor, places: AttentionPlaces) -> int:
    """Bytes of all that is kept for the backward pass."""
    storages = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        for _ in range(4):
            x = attention(x, places)
    return sum(storage.nbytes() for storage in storages.values())


def test_layers_keep_no_matrix_of_weights() -> None:
    """Encodings of pairs cost their own size once, for all layers; dropped weights a byte each."""
    heads, pairs = 8, torch.randn(PAIRS, 5, requires_grad=True)
    x = torch.randn(sum(SIZES), 8, requires_grad=True)
    plain, biased = DenseAttention(8, heads), DenseAttention(8, heads, (5,))
    stacks = places_of(encodings=(pairs,)).stacks.stacks
    positions = sum(stack.rows.size(0) * stack.rows.size(1) ** 2 for stack in stacks)
    mask = positions * heads
    indices = positions * 8
    without = saved_bytes(plain, x, places_of())
    with_bias = saved_bytes(biased, x, places_of(encodings=(pairs,)))
    assert with_bias - without < positions * 5 * 4 + indices + 4000 < 4 * mask * 4 / 2
    dropped = saved_bytes(DenseAttention(8, heads, dropout=0.5), x, places_of())
    assert dropped - without < 4 * mask + 4000


def test_large_logits_stay_finite() -> None:
    attention = DenseAttention(8, 2, (1,))
    x = (1e3 * torch.randn(sum(SIZES), 8)).requires_grad_()
    out = attention(x, places_of(encodings=(1e4 * torch.randn(PAIRS, 1),)))
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("widths", [(), (3,)])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_half_precision(widths: tuple[int, ...], dropout: float) -> None:
    attention = DenseAttention(8, 2, widths, dropout)
    x = torch.randn(sum(SIZES), 8, requires_grad=True)
    encodings = tuple(torch.randn(PAIRS, width, requires_grad=True) for width in widths)
    places = places_of(encodings=encodings)
    with torch.autocast("cpu", torch.bfloat16):
        out = attention(x, places)
    out.float().square().sum().backward()
    for parameter in (x, *encodings, *attention.parameters()):
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().sum() > 0
    attention.eval()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = attention(x, places)
    torch.testing.assert_close(rounded.float(), attention(x, places), rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 3), r"heads is 3, which does not divide the 8 channels.*hidden_channels"),
        ((8, 0), "heads is 0"),
        ((0, 1), "channels is 0"),
        ((8, 2, (), 1.0), "dropout is 1.0"),
    ],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DenseAttention(*arguments)
