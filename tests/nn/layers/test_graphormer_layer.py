"""The Graphormer layer, against torch's transformer layer."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, count_parameters
from torch import Tensor

from graphpe.nn import GraphormerLayer, graph_layout
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.stacks import stacks_of

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "grid, larger")
SIZES = (6, 0, 1, 5, 2, 30)
HEADS = 2


def places_of(tokens: bool, bias: Tensor | None = None, token: Tensor | None = None):
    layout = graph_layout(batch_of(*NAMES))
    stacks = stacks_of(layout, tokens, bias is not None)
    biases = () if bias is None else (bias,)
    return AttentionPlaces(layout, tokens, stacks, biases, token_pair=token)


def torch_layer(ours: GraphormerLayer) -> torch.nn.TransformerEncoderLayer:
    """The layer of torch with the same parameters."""
    theirs = torch.nn.TransformerEncoderLayer(
        8, HEADS, 8, 0.0, "gelu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    theirs.self_attn.in_proj_weight.data.copy_(ours.attention.project.weight)
    theirs.self_attn.in_proj_bias.data.copy_(ours.attention.project.bias)
    for target, source in (
        (theirs.self_attn.out_proj, ours.attention.output),
        (theirs.linear1, ours.feed_forward[0]),
        (theirs.linear2, ours.feed_forward[2]),
        (theirs.norm1, ours.attention_norm),
        (theirs.norm2, ours.feed_forward_norm),
    ):
        target.load_state_dict(source.state_dict())
    return theirs


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("tokens", [False, True])
@torch.no_grad()
def test_equals_the_layer_of_torch(tokens: bool, biased: bool) -> None:
    """With the bias as a mask, and a token's bias for all pairs with it, its own included."""
    ours = GraphormerLayer(8, HEADS, biased=biased).double()
    for norm in (ours.attention_norm, ours.feed_forward_norm):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    theirs = torch_layer(ours)
    bias = 3 * torch.randn(sum(n * n for n in SIZES), HEADS).double()
    of_token = torch.tensor([2.0, -1.0]).double()
    x = torch.randn(sum(SIZES) + tokens * len(SIZES), 8).double()
    got = ours(x, places_of(tokens, bias, of_token) if biased else places_of(tokens))
    node = pair = 0
    for number, n in enumerate(SIZES):
        rows = list(range(node, node + n)) + tokens * [sum(SIZES) + number]
        if rows:
            mask = of_token[:, None, None].repeat(1, len(rows), len(rows))
            mask[:, :n, :n] = bias[pair : pair + n * n].t().view(HEADS, n, n)
            expected = theirs(x[rows][None], src_mask=mask if biased else None)[0]
            torch.testing.assert_close(got[rows], expected)
        node, pair = node + n, pair + n * n
    assert count_parameters(ours) == count_parameters(theirs)


@pytest.mark.parametrize("attention_dropout", [0.0, 0.3])
def test_gradients(attention_dropout: float) -> None:
    """Of nodes, bias and the bias of the token; by differences of the output where it isn't random."""
    layer = GraphormerLayer(4, HEADS, attention_dropout=attention_dropout).double()
    layout = graph_layout(batch_of("two nodes", "no nodes", "complete"))
    stacks = stacks_of(layout, True, True)
    inputs = [
        torch.randn(shape, dtype=torch.float64, requires_grad=True)
        for shape in ((10, 4), (29, HEADS), (HEADS,))
    ]

    def run(x: Tensor, bias: Tensor, token: Tensor) -> Tensor:
        torch.manual_seed(0)  # the same weights are dropped each time
        return layer(x, AttentionPlaces(layout, True, stacks, (bias,), token_pair=token))

    assert torch.autograd.gradcheck(run, inputs)


def test_dropout_is_as_published() -> None:
    """After attention, after the feed-forward network, and of attention weights; not inside the network."""
    layer = GraphormerLayer(8, HEADS, 0.5, 0.25, biased=False)
    assert [m.p for m in layer.modules() if isinstance(m, torch.nn.Dropout)] == [0.5]
    assert layer.attention.dropout == 0.25
    x, places = torch.randn(sum(SIZES), 8), places_of(False)
    assert not torch.equal(layer(x, places), layer(x, places))
    layer.eval()
    assert torch.equal(layer(x, places), layer(x, places))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 3), r"heads is 3, which does not divide the 8 channels.*hidden_channels"),
        ((8, 0), "heads is 0"),
        ((0, 1), "channels is 0"),
        ((1, 1), "LayerNorm makes rows of one channel all the same"),
        ((8, 2, 1.0), "dropout is 1.0"),
        ((8, 2, 0.0, -0.1), "dropout is -0.1"),
    ],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphormerLayer(*arguments)
