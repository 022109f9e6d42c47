"""The layer of GRIT."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch_geometric.data import Batch, Data

from graphpe.nn import GRITLayer, graph_layout
from graphpe.nn.layout import NodePairs, node_pairs

SIZES = (3, 1, 0, 5)


def places() -> NodePairs:
    batch = Batch.from_data_list([Data(num_nodes=n) for n in SIZES])
    return node_pairs(graph_layout(batch))


def rows_by_hand(
    layer: GRITLayer, x: Tensor, pair: Tensor, log_degree: Tensor
) -> tuple[Tensor, Tensor]:
    """Spec 5, pair by pair and head by head: the output of attention, and the scores, before O and O_e."""
    width, channels = x.size(1) // layer.heads, x.size(1)
    attended, scores = torch.zeros_like(x), torch.zeros_like(pair)
    first_node = first_pair = 0
    for size in SIZES:
        for i in range(first_node, first_node + size):
            rows = range(first_pair, first_pair + size)
            columns = range(first_node, first_node + size)
            for row, j in zip(rows, columns, strict=True):
                factor, shift = layer.pair(pair[row]).split(channels)
                z = (layer.query(x[i]) + layer.key(x[j])) * factor
                root = z.relu().sqrt() - (-z).relu().sqrt()
                scores[row] = (root + shift).relu()
            for head in range(layer.heads):
                part = slice(head * width, (head + 1) * width)
                logits = [
                    (layer.logit_weight[head] @ scores[row, part]).clamp(-5, 5) for row in rows
                ]
                weights = torch.softmax(torch.stack(logits), 0)
                for weight, row, j in zip(weights, rows, columns, strict=True):
                    mapped = scores[row, part] @ layer.pair_value[head]
                    attended[i, part] += weight * (layer.value(x[j])[part] + mapped)
            first_pair += size
        first_node += size
    theta = layer.degree_scale[0]
    return attended * theta[:, 0] + attended * theta[:, 1] * log_degree, scores


def layer_by_hand(
    layer: GRITLayer, x: Tensor, pair: Tensor, log_degree: Tensor
) -> tuple[Tensor, Tensor]:
    attended, scores = rows_by_hand(layer, x, pair, log_degree)
    first, _, _, second = layer.feed_forward
    z = layer.first_norm(x + layer.output(attended))
    new_x = layer.second_norm(z + second(first(z).relu()))
    update = layer.pair_update
    return new_x, update.norm(pair + update.output(scores))


def inputs(channels: int, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    pairs = places()
    x = scale * torch.randn(sum(SIZES), channels, dtype=torch.float64)
    pair = scale * torch.randn(len(pairs), channels, dtype=torch.float64)
    degree = torch.arange(sum(SIZES), dtype=torch.float64)
    return x, pair, degree.log1p()[:, None]


@pytest.mark.parametrize("scale", [1.0, 30.0])  # with the larger one, logits are clamped
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_equals_the_formula(norm: str, scale: float) -> None:
    layer = GRITLayer(12, 3, norm).double()
    x, pair, log_degree = inputs(12, scale)
    got_x, got_pair = layer(x, pair, places(), log_degree)
    with torch.no_grad():
        expected_x, expected_pair = layer_by_hand(layer, x, pair, log_degree)
    torch.testing.assert_close(got_x, expected_x)
    torch.testing.assert_close(got_pair, expected_pair)
    same_x, same_pair = layer(x, pair, places(), log_degree, update_pairs=False)
    assert torch.equal(same_x, got_x)
    assert same_pair is pair


def test_gradients() -> None:
    torch.manual_seed(0)  # no score so close to 0 that finite differences go wrong
    layer = GRITLayer(4, 2, "layer").double()
    x, pair, log_degree = inputs(4)
    x.requires_grad_()
    pair.requires_grad_()
    assert gradcheck(lambda *rows: layer(*rows, places(), log_degree), (x, pair))


def test_gradients_are_finite_at_zero() -> None:
    """Scores are roots, whose slope is unbounded at 0: here all are 0, or all but."""
    for size in (0.0, 1e-40, 1e-20):
        layer = GRITLayer(4, 2, "layer")
        x, pair, log_degree = (t.float() for t in inputs(4))
        x, pair = (torch.full_like(t, size).requires_grad_() for t in (x, pair))
        with torch.no_grad():
            layer.query.bias.zero_()
            layer.pair.bias.fill_(size)
        out, new_pair = layer(x, pair, places(), log_degree)
        (out.square().sum() + new_pair.square().sum()).backward()
        leaves = [x, pair, *layer.parameters()]
        assert all(leaf.grad.isfinite().all() for leaf in leaves)


def test_dropouts_only_in_training() -> None:
    x, pair, log_degree = (t.float() for t in inputs(8))
    for dropouts in ({"dropout": 0.5}, {"attention_dropout": 0.5}):
        layer = GRITLayer(8, 2, "layer", **dropouts)
        first, second = (layer(x, pair, places(), log_degree)[0] for _ in range(2))
        assert not torch.equal(first, second)
        layer.eval()
        first, second = (layer(x, pair, places(), log_degree)[0] for _ in range(2))
        assert torch.equal(first, second)


def test_published_initial_weights() -> None:
    """Xavier's normal distribution; of A, E_v and θ in the published shapes [8, 8, 1], [8, 8, 8] and [1, 64, 2]."""
    layers = [GRITLayer(64, 8) for _ in range(20)]
    for name, shape in (
        ("query.weight", (64, 64)),
        ("pair.weight", (128, 64)),
        ("logit_weight", (8, 8, 1)),
        ("pair_value", (8, 8, 8)),
        ("degree_scale", (1, 64, 2)),
    ):
        got = torch.stack([layer.get_parameter(name) for layer in layers]).std().item()
        fan_in, fan_out = nn_fans(shape)
        assert got == pytest.approx(math.sqrt(2 / (fan_in + fan_out)), rel=0.1), name


def nn_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    return torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 3}, r"heads is 3, which does not divide the 8 channels.*choose a divisor"),
        ({"heads": 0}, "heads is 0; it must be an integer >= 1"),
        ({"norm": "group"}, "norm is 'group'"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be a finite number >= 0 and < 1"),
        ({"attention_dropout": -0.1}, "attention_dropout is -0.1"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        GRITLayer(**{"channels": 8, "heads": 2} | arguments)
    assert "\n" not in str(error.value)
