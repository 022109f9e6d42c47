"""The kernel for GPUs; on a CPU it runs uncompiled, forwards only."""

from __future__ import annotations

import copy

import pytest
import torch
from nn_batches import batch_of

from graphpe.nn import DenseAttention, graph_layout
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.attention.flex import block_mask, flex_attend
from graphpe.nn.stacks import stacks_of

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "grid, larger")
SIZES = (6, 0, 1, 5, 2, 30)
PAIRS = sum(n * n for n in SIZES)


def places_of(tokens: bool, pairs: bool, device: str = "cpu") -> AttentionPlaces:
    layout = graph_layout(batch_of(*NAMES).to(device))
    encodings = (torch.randn(PAIRS, 3, device=device),) if pairs else ()
    return AttentionPlaces(layout, tokens, stacks_of(layout, tokens, pairs), encodings)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
@torch.no_grad()
def test_equals_the_other_kernel(tokens: bool, pairs: bool) -> None:
    attention, places = DenseAttention(32, 2, (3,) if pairs else ()), places_of(tokens, pairs)
    x = 2 * torch.randn(len(places.graph), 32)
    bias = attention.pair_bias[0](places.pair_columns) if pairs else None
    graph = places.graph
    mask = block_mask(graph, compiled=False)
    mixed = flex_attend(attention.project(x), places.layout, graph, mask, 2, bias, compiled=False)
    expected = attention(x, places)
    torch.testing.assert_close(attention.output(mixed), expected, rtol=0, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_compiled_on_a_gpu(tokens: bool, pairs: bool) -> None:
    places = places_of(tokens, pairs, "cuda")
    sdpa = DenseAttention(64, 2, (3,) if pairs else ()).cuda()
    flex = copy.deepcopy(sdpa)
    flex.kernel = "flex"
    x = torch.randn(len(places.graph), 64, device="cuda", requires_grad=True)
    towards = torch.randn_like(x)
    got, expected = flex(x, places), sdpa(x, places)
    torch.testing.assert_close(got, expected, rtol=1e-2, atol=1e-2)
    for mine, other in zip(
        torch.autograd.grad(got, [x, *flex.parameters()], towards),
        torch.autograd.grad(expected, [x, *sdpa.parameters()], towards),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, rtol=5e-2, atol=5e-2)


def test_it_is_refused_on_a_cpu_and_with_dropout() -> None:
    places = places_of(False, False)
    with pytest.raises(ValueError, match="'flex', which needs a GPU; take 'sdpa' on a CPU"):
        DenseAttention(8, 2, kernel="flex")(torch.randn(44, 8), places)
    with pytest.raises(ValueError, match=r"dropout of attention weights is 0.5.*drops none"):
        DenseAttention(8, 2, dropout=0.5, kernel="flex")
    with pytest.raises(ValueError, match="kernel is 'flash'; it must be 'sdpa' or 'flex'"):
        DenseAttention(8, 2, kernel="flash")
