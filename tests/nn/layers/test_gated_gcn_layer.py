"""The gated graph convolution."""

from __future__ import annotations

import pytest
import torch

from graphpe.nn import GatedGCNLayer

EDGE_INDEX = torch.tensor(
    [[0, 1, 1, 2, 1], [1, 0, 2, 2, 0]]
)  # parallel edges, a loop, node 3 alone


def by_hand(
    layer: GatedGCNLayer, x: torch.Tensor, edge: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The formula, node by node and edge by edge."""
    logits = torch.stack(
        [
            layer.source_gate(x[source])
            + layer.target_gate(x[target])
            + layer.edge_gate(edge[number])
            for number, (source, target) in enumerate(EDGE_INDEX.t().tolist())
        ]
    )
    rows = []
    for node in range(len(x)):
        total = weight = torch.zeros_like(x[0])
        for number, (source, target) in enumerate(EDGE_INDEX.t().tolist()):
            if target == node:
                gate = logits[number].sigmoid()
                total, weight = total + gate * layer.source_linear(x[source]), weight + gate
        rows.append(layer.self_linear(x[node]) + total / (weight + 1e-6))
    x = x + layer.node_norm(torch.stack(rows)).relu()
    return x, edge + layer.edge_norm(logits).relu()


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_equals_the_formula(norm: str) -> None:
    layer = GatedGCNLayer(6, norm).double()
    x, edge = torch.randn(4, 6).double(), torch.randn(5, 6).double()
    for got, expected in zip(layer(x, EDGE_INDEX, edge), by_hand(layer, x, edge), strict=True):
        torch.testing.assert_close(got, expected)
    torch.testing.assert_close(layer(x, EDGE_INDEX, edge, update_edges=False)[1], edge)


def test_a_node_without_in_neighbours_keeps_to_itself() -> None:
    layer = GatedGCNLayer(6, "none").double()
    x, edge = torch.randn(4, 6).double(), torch.randn(5, 6).double()
    expected = x[3] + layer.self_linear(x[3]).relu()
    torch.testing.assert_close(layer(x, EDGE_INDEX, edge)[0][3], expected)


def test_gates_of_many_edges_in_half_precision() -> None:
    """In bfloat16 the sum of 1000 gates stops growing at about 256 of them."""
    layer = GatedGCNLayer(4, "none")
    edge_index = torch.stack([torch.arange(1, 1001), torch.zeros(1000, dtype=torch.long)])
    x, edge = torch.randn(1001, 4), torch.randn(1, 4).repeat(1000, 1)
    x[501:] += 4  # these would no longer count
    expected = layer(x, edge_index, edge)[0][0]
    got = layer.bfloat16()(x.bfloat16(), edge_index, edge.bfloat16())[0][0]
    torch.testing.assert_close(got.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 0}, "channels is 0"),
        ({"norm": "group"}, "norm is"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GatedGCNLayer(**{"channels": 4, **arguments})
