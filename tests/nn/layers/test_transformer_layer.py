"""The transformer layer; its attention is tested in tests/nn/attention."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, count_parameters
from torch import Tensor

from graphpe.nn import TransformerLayer, graph_layout
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.stacks import stacks_of

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "grid, larger")
SIZES = (6, 0, 1, 5, 2, 30)


def places_of(*names: str, **more: Tensor | None) -> AttentionPlaces:
    layout = graph_layout(batch_of(*names))
    return AttentionPlaces(layout, stacks=stacks_of(layout), **more)


@torch.no_grad()
def test_equals_the_layer_of_torch() -> None:
    ours = TransformerLayer(8, 2).double().eval()
    theirs = torch.nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, activation="gelu", batch_first=True, dtype=torch.float64
    )
    theirs.self_attn.in_proj_weight.copy_(ours.attention.project.weight)
    theirs.self_attn.in_proj_bias.copy_(ours.attention.project.bias)
    for target, source in (
        (theirs.self_attn.out_proj, ours.attention.output),
        (theirs.linear1, ours.feed_forward[0]),
        (theirs.linear2, ours.feed_forward[3]),
        (theirs.norm1, ours.first_norm),
        (theirs.norm2, ours.second_norm),
    ):
        target.load_state_dict(source.state_dict())
    x = torch.randn(sum(SIZES), 8).double()
    expected = torch.cat([theirs(rows[None])[0] for rows in x.split(SIZES) if len(rows)])
    torch.testing.assert_close(ours(x, places_of(*NAMES)), expected)
    assert count_parameters(ours) == count_parameters(theirs)


@torch.no_grad()
def test_structure_goes_into_queries_and_keys_and_the_scale_onto_attention() -> None:
    batch = batch_of(*NAMES)
    layer = TransformerLayer(8, 2, structure_hops=2, edge_channels=3).double()
    x, edge = torch.randn(sum(SIZES), 8).double(), torch.randn(batch.num_edges, 3).double()
    places = places_of(*NAMES, edge_index=batch.edge_index, edge=edge)
    scale = torch.rand(sum(SIZES), 1).double()
    structure = layer.structure(x, batch.edge_index, edge)
    z = layer.first_norm(x + scale * layer.attention(x, places, structure))
    expected = layer.second_norm(z + layer.feed_forward(z))
    torch.testing.assert_close(layer(x, places, scale), expected)


def test_dropout_is_as_in_torch() -> None:
    """After attention, inside and after the feed-forward network; attention weights have none."""
    layer = TransformerLayer(8, 2, dropout=0.5)
    dropouts = [m.p for m in layer.modules() if isinstance(m, torch.nn.Dropout)]
    assert dropouts == [0.5, 0.5]
    assert layer.attention.dropout == 0
    x, places = torch.randn(3, 8), places_of("one node", "two nodes")
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
    ],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerLayer(*arguments)
