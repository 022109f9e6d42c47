"""Principal neighbourhood aggregation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from graphpe.nn import PNALayer

EDGE_INDEX = torch.tensor(
    [[0, 1, 1, 2, 1], [1, 0, 2, 2, 0]]
)  # parallel edges, a loop, node 3 alone


def by_hand(layer: PNALayer, x: Tensor, edge: Tensor, delta: float, root: float) -> Tensor:
    """The formula, node by node and tower by tower; a node that receives nothing has a = 0."""
    towers = layer.towers
    width = x.size(1) // towers
    edge = edge @ layer.edge.weight.t() + layer.edge.bias
    rows = []
    for node in range(len(x)):
        degree = int((EDGE_INDEX[1] == node).sum())
        scale = torch.tensor(degree + 1).double().log() / delta
        towers_out = []
        for tower in range(towers):
            columns = slice(tower * width, (tower + 1) * width)
            weight = layer.ends.weight[tower]
            messages = [
                x[target, columns] @ weight[:, width:]
                + x[source, columns] @ weight[:, :width]
                + edge[number, columns]
                for number, (source, target) in enumerate(EDGE_INDEX.t().tolist())
                if target == node
            ]
            z = x[node, columns] @ layer.own.weight[tower] + layer.bias[columns]
            if messages:
                stacked = torch.stack(messages)
                largest, smallest = stacked.amax(0), stacked.amin(0)
                deviation = stacked.std(0, correction=0) * (len(messages) > 1)
                a = torch.cat([stacked.mean(0), largest, smallest, deviation])
                same, amplified, attenuated = (a @ layer.received.weight[tower]).chunk(3)
                z = z + same + scale * amplified + attenuated / scale
            towers_out.append(z)
        rows.append(torch.cat(towers_out))
    z = layer.norm(torch.stack(rows) / root)
    return x + torch.nn.functional.leaky_relu(layer.mix(z))


@pytest.mark.parametrize("towers", [1, 3])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_equals_the_formula(norm: str, towers: int) -> None:
    layer = PNALayer(6, 5, towers, norm).double()
    torch.nn.init.normal_(layer.bias)
    x, edge = torch.randn(4, 6).double(), torch.randn(5, 5).double()
    delta, root = 0.7, 2.0
    degree = torch.bincount(EDGE_INDEX[1], minlength=4).clamp(min=1)
    got = layer(
        x,
        EDGE_INDEX,
        edge,
        (degree + 1).double().log() / delta,
        torch.full((4,), 1 / root).double(),
    )
    torch.testing.assert_close(got, by_hand(layer, x, edge, delta, root))


def test_many_messages_in_half_precision() -> None:
    """In bfloat16 neither the mean nor the deviation of 1000 messages that are far from 0 is right."""
    layer = PNALayer(4, 3, norm="none")
    for number in (0, 3):  # what is read of mean, max, min, std
        for parameter in layer.parameters():
            torch.nn.init.zeros_(parameter)
        layer.ends.weight.data[0, :, :4] = layer.mix.weight.data[:] = torch.eye(4)
        layer.received.weight.data[0, 4 * number : 4 * number + 4, :4] = torch.eye(4)
        edge_index = torch.stack([torch.arange(1, 1001), torch.zeros(1000, dtype=torch.long)])
        x, edge = 30 + 4 * torch.randn(1001, 4), torch.zeros(1000, 3)
        with torch.autocast("cpu", torch.bfloat16):
            got = layer(x, edge_index, edge, torch.ones(1001), torch.ones(1001))[0] - x[0]
        expected = x[1:].mean(0) if number == 0 else x[1:].std(0, correction=0)
        torch.testing.assert_close(got.float(), expected, rtol=0.03, atol=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"towers": 3}, "towers is 3, which does not divide the 4 channels.*hidden_channels"),
        ({"towers": 0}, "towers is 0"),
        ({"edge_channels": 0}, "edge_channels is 0"),
        ({"norm": "group"}, "norm is 'group'"),
        ({"dropout": -0.1}, "dropout"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PNALayer(**{"channels": 4, "edge_channels": 4, **arguments})
