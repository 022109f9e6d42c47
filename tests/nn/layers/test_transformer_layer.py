"""The transformer layer."""

from __future__ import annotations

import math

import pytest
import torch
from nn_batches import batch_of, count_parameters
from torch import Tensor

from graphpe.nn import TransformerLayer, graph_layout
from graphpe.nn.stacks import stacks_of

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "grid, larger")
SIZES = (6, 0, 1, 5, 2, 30)
PAIRS = sum(n * n for n in SIZES)


def layer_by_hand(
    layer: TransformerLayer,
    x: Tensor,
    encodings: list[Tensor],
    tokens: bool,
    structure: Tensor | None = None,
    scale: Tensor | None = None,
    angles: Tensor | None = None,
) -> Tensor:
    """Graph by graph, head by head, node by node."""
    attended, width = torch.zeros_like(x), x.size(1) // layer.heads
    structure = x if structure is None else structure
    query, key, value = layer.query(structure), layer.key(structure), layer.value(x)
    if angles is not None:
        query, key = turn(query, angles, width), turn(key, angles, width)
    node, pair = 0, 0
    for number, n in enumerate(SIZES):
        rows = list(range(node, node + n)) + ([sum(SIZES) + number] if tokens else [])
        for head in range(layer.heads):
            part = slice(head * width, (head + 1) * width)
            for a, i in enumerate(rows):
                logits = []
                for b, j in enumerate(rows):
                    logit = query[i, part] @ key[j, part] / math.sqrt(width)
                    for linear, encoding in zip(layer.pair_bias, encodings, strict=True):
                        if a < n and b < n:
                            logit = logit + linear(encoding[pair + a * n + b])[head]
                    logits.append(logit)
                weights = torch.stack(logits).softmax(0)
                attended[i, part] = (weights[:, None] * value[rows][:, part]).sum(0)
        node, pair = node + n, pair + n * n
    attended = layer.output(attended)
    z = layer.first_norm(x + (attended if scale is None else attended * scale))
    first, _, _, second = layer.feed_forward
    return layer.second_norm(z + second(torch.nn.functional.gelu(first(z))))


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
    layer = TransformerLayer(8, 2, pair_channels=widths).double()
    layout = graph_layout(batch_of(*NAMES))
    x = 2 * torch.randn(sum(SIZES) + len(SIZES) * tokens, 8).double()
    encodings = [torch.randn(PAIRS, width).double() for width in widths]
    got = layer(x, stacks_of(layout, tokens, bool(widths)), encodings)
    torch.testing.assert_close(got, layer_by_hand(layer, x, encodings, tokens))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_of_the_bias_equal_those_of_the_formula(dtype: torch.dtype) -> None:
    layer = TransformerLayer(8, 2, pair_channels=(3,)).to(dtype)
    stacks = stacks_of(graph_layout(batch_of(*NAMES)), pairs=True)
    x = torch.randn(sum(SIZES), 8, dtype=dtype, requires_grad=True)
    encoding = torch.randn(PAIRS, 3, dtype=dtype, requires_grad=True)
    towards = torch.randn(sum(SIZES), 8, dtype=dtype)
    inputs = (x, encoding, *layer.parameters())
    got = torch.autograd.grad(layer(x, stacks, [encoding]), inputs, towards)
    expected = torch.autograd.grad(layer_by_hand(layer, x, [encoding], False), inputs, towards)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7 if dtype.itemsize == 8 else 1e-4)


@torch.no_grad()
def test_structure_goes_into_queries_and_keys_alone() -> None:
    batch = batch_of(*NAMES)
    layer = TransformerLayer(8, 2, structure_hops=2, edge_channels=3).double()
    x, edge = torch.randn(sum(SIZES), 8).double(), torch.randn(batch.num_edges, 3).double()
    scale = torch.rand(sum(SIZES), 1).double()
    got = layer(x, stacks_of(graph_layout(batch)), (), batch.edge_index, edge, scale)
    structure = layer.structure(x, batch.edge_index, edge)
    torch.testing.assert_close(got, layer_by_hand(layer, x, [], False, structure, scale))


@pytest.mark.parametrize("tokens", [False, True])
@torch.no_grad()
def test_angles_rotate_queries_and_keys(tokens: bool) -> None:
    layer = TransformerLayer(8, 2, pair_channels=(3,)).double()
    rows = sum(SIZES) + len(SIZES) * tokens
    x, angles = 2 * torch.randn(rows, 8).double(), 3 * torch.randn(rows, 4).double()
    encodings = [torch.randn(PAIRS, 3).double()]
    stacks = stacks_of(graph_layout(batch_of(*NAMES)), tokens, pairs=True)
    got = layer(x, stacks, encodings, angles=angles)
    expected = layer_by_hand(layer, x, encodings, tokens, angles=angles)
    torch.testing.assert_close(got, expected)
    assert not torch.allclose(layer(x, stacks, encodings), got)
    torch.testing.assert_close(
        layer(x, stacks, encodings, angles=torch.zeros_like(angles)), layer(x, stacks, encodings)
    )


@torch.no_grad()
def test_equals_the_layer_of_torch() -> None:
    ours = TransformerLayer(8, 2).double().eval()
    theirs = torch.nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, activation="gelu", batch_first=True, dtype=torch.float64
    )
    attention = theirs.self_attn
    linears = (ours.query, ours.key, ours.value)
    attention.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))
    attention.in_proj_bias.copy_(torch.cat([linear.bias for linear in linears]))
    for target, source in (
        (attention.out_proj, ours.output),
        (theirs.linear1, ours.feed_forward[0]),
        (theirs.linear2, ours.feed_forward[3]),
        (theirs.norm1, ours.first_norm),
        (theirs.norm2, ours.second_norm),
    ):
        target.load_state_dict(source.state_dict())
    layout = graph_layout(batch_of(*NAMES))
    x = torch.randn(sum(SIZES), 8).double()
    expected = torch.cat([theirs(rows[None])[0] for rows in x.split(SIZES) if len(rows)])
    torch.testing.assert_close(ours(x, stacks_of(layout)), expected)
    assert count_parameters(ours) == count_parameters(theirs)


def test_dropout_is_as_in_torch() -> None:
    """After attention, inside and after the feed-forward network; attention weights have none."""
    layer = TransformerLayer(8, 2, dropout=0.5)
    dropouts = [m.p for m in layer.modules() if isinstance(m, torch.nn.Dropout)]
    assert dropouts == [0.5, 0.5]
    x, stacks = torch.randn(3, 8), stacks_of(graph_layout(batch_of("one node", "two nodes")))
    assert not torch.equal(layer(x, stacks), layer(x, stacks))
    layer.eval()
    assert torch.equal(layer(x, stacks), layer(x, stacks))


def test_large_logits_stay_finite() -> None:
    layer = TransformerLayer(8, 2, pair_channels=(1,))
    stacks = stacks_of(graph_layout(batch_of(*NAMES)), pairs=True)
    x = (1e3 * torch.randn(sum(SIZES), 8)).requires_grad_()
    out = layer(x, stacks, [1e4 * torch.randn(PAIRS, 1)])
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 3), r"heads is 3, which does not divide the 8 channels.*hidden_channels"),
        ((8, 0), "heads is 0"),
        ((0, 1), "channels is 0"),
    ],
)
def test_bad_sizes(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerLayer(*arguments)
