"""The small graph network that queries and keys come from."""

from __future__ import annotations

import pytest
import torch
from nn_batches import count_parameters
from torch import Tensor

from graphpe.nn import StructureExtractor

# Node 0 has no in-edge, node 4 no edge at all; the edge (1, 2) is there twice; node 3 has a loop.
EDGE_INDEX = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 2, 2, 3, 3, 1]])


def extract_by_hand(layer: StructureExtractor, x: Tensor, edge: Tensor | None) -> Tensor:
    """Edge by edge and node by node."""
    gelu = torch.nn.functional.gelu
    edges = EDGE_INDEX.t().tolist()
    vectors = None if edge is None else list(edge)
    nodes, hops = list(x), [x]
    for message, update in zip(layer.messages, layer.updates, strict=True):
        messages = []
        for number, (u, v) in enumerate(edges):
            parts = [nodes[u], nodes[v]] + ([] if vectors is None else [vectors[number]])
            messages.append(gelu(message(torch.cat(parts))))
        none = torch.zeros_like(messages[0])
        new = []
        for node, state in enumerate(nodes):
            sent = sum((m for m, (u, _) in zip(messages, edges, strict=True) if u == node), none)
            received = sum(
                (m for m, (_, v) in zip(messages, edges, strict=True) if v == node), none
            )
            new.append(gelu(update(torch.cat([state, sent, received]))))
        nodes = new
        vectors = None if vectors is None else messages
        hops.append(torch.stack(nodes))
    return layer.output(layer.norm(torch.cat(hops, 1)))


@pytest.mark.parametrize("channels", [6, 7])
@pytest.mark.parametrize("edge_channels", [0, 5])
@pytest.mark.parametrize("hops", [1, 3])
def test_equals_the_formula(channels: int, hops: int, edge_channels: int) -> None:
    layer = StructureExtractor(channels, hops, edge_channels).double()
    x = torch.randn(5, channels).double()
    edge = torch.randn(6, edge_channels).double() if edge_channels else None
    torch.testing.assert_close(layer(x, EDGE_INDEX, edge), extract_by_hand(layer, x, edge))


def test_sees_directions_and_no_further_than_its_hops() -> None:
    layer = StructureExtractor(6, 2).double()
    path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    x = torch.randn(5, 6, requires_grad=True, dtype=torch.float64)
    out = layer(x, path)
    assert not torch.allclose(out, layer(x, path.flip(0)))
    (gradient,) = torch.autograd.grad(out[0].square().sum(), x)
    assert (gradient.abs().sum(1) > 0).tolist() == [True, True, True, False, False]


def test_no_edges_and_no_nodes() -> None:
    layer = StructureExtractor(6, 2, 3)
    for n in (0, 2):
        out = layer(torch.randn(n, 6), torch.zeros(2, 0).long(), torch.zeros(0, 3))
        assert out.shape == (n, 6)
        out.sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_parameters() -> None:
    """Three hops of half the width: messages of two ends, updates of a node and two sums."""
    first = (2 * 8 + 1) * 4 + (8 + 2 * 4 + 1) * 4
    later = (2 * 4 + 1) * 4 + (4 + 2 * 4 + 1) * 4
    output = 2 * 20 + 20 * 8 + 8
    assert count_parameters(StructureExtractor(8, 3)) == first + 2 * later + output
    assert (
        count_parameters(StructureExtractor(8, 3, 8))
        == first + 8 * 4 + 2 * (later + 4 * 4) + output
    )


@pytest.mark.parametrize(
    ("arguments", "message"), [((1, 2), "channels is 1"), ((8, 0), "hops is 0")]
)
def test_bad_sizes(arguments: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StructureExtractor(*arguments)
