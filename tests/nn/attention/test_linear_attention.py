"""Attention in linear time."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import LinearAttention, graph_layout
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.stacks import stacks_of


def places_of(batch: Data, tokens: bool = False) -> AttentionPlaces:
    layout = graph_layout(batch)
    return AttentionPlaces(layout, tokens, stacks_of(layout, tokens))


def attention_by_hand(attention: LinearAttention, x: Tensor, graph: Tensor) -> Tensor:
    """Weights of all pairs, one by one."""
    query, key, value = (
        part.unflatten(1, (attention.heads, -1)) for part in attention.project(x).chunk(3, 1)
    )
    query, key = (torch.nn.functional.elu(part) + 1 for part in (query, key))
    weights = torch.einsum("ihd,jhd->hij", query, key) * (graph[:, None] == graph)
    weights = weights / weights.sum(-1, keepdim=True)
    return attention.output(torch.einsum("hij,jhd->ihd", weights, value).flatten(1))


@pytest.mark.parametrize("tokens", [False, True])
def test_equals_the_formula(tokens: bool) -> None:
    batch = batch_of()
    attention, places = LinearAttention(8, 2).double(), places_of(batch, tokens)
    x = torch.randn(len(places.graph), 8).double().requires_grad_()
    got, expected = attention(x, places), attention_by_hand(attention, x, places.graph)
    torch.testing.assert_close(got, expected)
    inputs, towards = [x, *attention.parameters()], torch.randn_like(got)
    for a, b in zip(
        torch.autograd.grad(got, inputs, towards),
        torch.autograd.grad(expected, inputs, towards),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


@torch.no_grad()
def test_a_graph_does_not_see_the_largest_of_its_batch() -> None:
    """Spec 4.5: in PyG's performer, padded keys count in the normaliser."""
    attention = LinearAttention(8, 2)
    large = Data(num_nodes=400, edge_index=torch.zeros(2, 0).long())
    every = [Data(num_nodes=n, edge_index=torch.zeros(2, 0).long()) for n in (1, 2, 17, 18, 20)]
    x = torch.randn(58, 8)
    together = attention(
        torch.cat([x, torch.randn(400, 8)]), places_of(Batch.from_data_list([*every, large]))
    )
    sizes = [1, 2, 17, 18, 20]
    for graph, rows, expected in zip(
        every, x.split(sizes), together[:58].split(sizes), strict=True
    ):
        assert (attention(rows, places_of(graph)) - expected).abs().max() < 1e-6


def test_extreme_queries_and_keys() -> None:
    attention, batch = LinearAttention(8, 2), batch_of()
    for scale in (1e3, 1e6):
        x = (scale * torch.randn(batch.num_nodes, 8)).requires_grad_()
        out = attention(x, places_of(batch))
        out.sum().backward()
        assert out.isfinite().all()
        assert x.grad.isfinite().all()
    with torch.no_grad():  # all features vanish: there is nothing to average
        attention.project.weight.zero_()
        attention.project.bias[:16] = -200
    assert torch.equal(attention(x, places_of(batch)), attention.output.bias.expand_as(x))


def test_half_precision() -> None:
    """In bfloat16, 256 + 1 is 256."""
    attention, n = LinearAttention(8, 2), 5000
    batch = Data(num_nodes=n, edge_index=torch.zeros(2, 0).long())
    x = torch.randn(n, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        out = attention(x, places_of(batch))
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert x.grad.isfinite().all()
    torch.testing.assert_close(out.float(), attention(x, places_of(batch)), rtol=0, atol=0.02)


def test_no_nodes() -> None:
    attention = LinearAttention(8, 2)
    out = attention(torch.zeros(0, 8), places_of(batch_of("no nodes")))
    assert out.shape == (0, 8)
    out.sum().backward()
    assert attention.project.weight.grad.abs().sum() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((8, 3), "heads is 3, which does not divide the 8 channels"), ((8, 0), "heads is 0")],
)
def test_bad_arguments(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearAttention(*arguments)
