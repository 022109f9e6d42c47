"""The layer of Dwivedi and Bresson."""

from __future__ import annotations

import math

import pytest
import torch
from nn_batches import count_parameters
from torch import Tensor

from graphpe.nn import GraphTransformerLayer

# Node 0 has no in-edge; node 4 has neither; the edge (1, 2) is there twice; node 3 attends to itself too.
EDGE_INDEX = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 2, 2, 3, 3, 1]])


def update_by_hand(update: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    first, _, _, second = update.feed_forward
    z = update.first_norm(x + update.output(y))
    return update.second_norm(z + second(first(z).relu()))


def layer_by_hand(
    layer: GraphTransformerLayer, x: Tensor, edge: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Spec 3.1, node by node and head by head."""
    width = x.size(1) // layer.heads
    attended = torch.zeros_like(x)
    scores = torch.zeros(EDGE_INDEX.size(1), x.size(1), dtype=x.dtype)
    for head in range(layer.heads):
        part = slice(head * width, (head + 1) * width)
        query, key, value = (m(x)[:, part] for m in (layer.query, layer.key, layer.value))
        for node in range(len(x)):
            total, normalizer = torch.zeros(width, dtype=x.dtype), 0.0
            for number, (source, target) in enumerate(EDGE_INDEX.t().tolist()):
                if target != node:
                    continue
                score = query[node] * key[source] / math.sqrt(width)
                if edge is not None:
                    score = score * layer.edge(edge)[number, part]
                scores[number, part] = score
                logit = score.sum()
                weight = torch.exp(logit.clamp(-5, 5) if layer.softmax == "clamp" else logit)
                total = total + weight * value[source]
                normalizer = normalizer + weight
            if normalizer:
                attended[node, part] = total / normalizer
    new_edge = None if edge is None else update_by_hand(layer.edge_update, edge, scores)
    return update_by_hand(layer.node_update, x, attended), new_edge


@pytest.mark.parametrize("scale", [1.0, 30.0])  # with the larger one, logits are clamped
@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize("softmax", ["clamp", "max"])
def test_equals_the_formula(softmax: str, edges: bool, norm: str, scale: float) -> None:
    layer = GraphTransformerLayer(12, 3, edges, norm, softmax=softmax).double()
    x = scale * torch.randn(5, 12, dtype=torch.float64)
    edge = torch.randn(6, 12, dtype=torch.float64) if edges else None
    got_x, got_edge = layer(x, EDGE_INDEX, edge)
    with torch.no_grad():
        expected_x, expected_edge = layer_by_hand(layer, x, edge)
    torch.testing.assert_close(got_x, expected_x)
    if edges:
        torch.testing.assert_close(got_edge, expected_edge)
        same_x, same_edge = layer(x, EDGE_INDEX, edge, update_edges=False)
        assert torch.equal(same_x, got_x)
        assert same_edge is edge
    else:
        assert got_edge is None


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize("num_edges", [0, 1])
@pytest.mark.parametrize("softmax", ["clamp", "max"])
def test_nodes_without_in_edges(softmax: str, num_edges: int, edges: bool) -> None:
    """B36, graphtransformer#27: 0/0 in the original; here such nodes get nothing from attention."""
    layer = GraphTransformerLayer(8, 2, edges, "layer", softmax=softmax)
    x = torch.randn(3, 8, requires_grad=True)
    edge = torch.randn(num_edges, 8) if edges else None
    out, _ = layer(x, EDGE_INDEX[:, :num_edges], edge)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.node_update.parameters())
    nothing = layer.node_update(x, torch.zeros_like(x))
    torch.testing.assert_close(out[0], nothing[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("softmax", ["clamp", "max"])
def test_huge_logits_stay_finite(softmax: str, dtype: torch.dtype) -> None:
    layer = GraphTransformerLayer(8, 2, False, "layer", softmax=softmax).to(dtype)
    x = (1e4 * torch.randn(5, 8, dtype=dtype)).requires_grad_()
    out, _ = layer(x, EDGE_INDEX)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


def test_published_number_of_parameters() -> None:
    assert count_parameters(GraphTransformerLayer(64, 8, edges=True)) == 58_368


def test_dropout_only_in_training() -> None:
    layer = GraphTransformerLayer(8, 2, False, "layer", dropout=0.5)
    x = torch.randn(5, 8)
    assert not torch.equal(layer(x, EDGE_INDEX)[0], layer(x, EDGE_INDEX)[0])
    layer.eval()
    assert torch.equal(layer(x, EDGE_INDEX)[0], layer(x, EDGE_INDEX)[0])


def test_weights_are_as_large_as_it_takes_with_max() -> None:
    """Where one logit is 20 more than another, clamping leaves the other a share; the maximum doesn't."""
    for softmax, share in (("clamp", 1 / (1 + torch.tensor(10.0).exp())), ("max", 0)):
        layer = GraphTransformerLayer(1, 1, False, "batch", softmax=softmax).eval()
        with torch.no_grad():
            for linear in (layer.query, layer.key, layer.value):
                linear.weight.fill_(1)
        seen: list = []
        layer.node_update.register_forward_pre_hook(lambda _, rows, seen=seen: seen.append(rows[1]))
        layer(torch.tensor([[1.0], [-20.0], [20.0]]), torch.tensor([[1, 2], [0, 0]]))
        torch.testing.assert_close(seen[0][0].item(), float(20 - 40 * share))


def test_heads_must_divide_channels() -> None:
    message = r"heads is 3, which does not divide the 8 channels.*choose a divisor"
    with pytest.raises(ValueError, match=message):
        GraphTransformerLayer(8, 3, False)


def test_kinds_of_softmax() -> None:
    with pytest.raises(ValueError, match="softmax is 'sum'"):
        GraphTransformerLayer(8, 2, False, softmax="sum")


@pytest.mark.parametrize("heads", [0, 2.0, True])
def test_heads_is_a_positive_integer(heads: object) -> None:
    with pytest.raises(ValueError, match=f"heads is {heads}; it must be an integer >= 1"):
        GraphTransformerLayer(8, heads, False)
