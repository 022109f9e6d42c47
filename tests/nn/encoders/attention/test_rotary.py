"""Angles of coordinates, and attention rotated by them."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.fields import Field
from graphpe.nn import PairEncoder, RotaryEncoder, Transformer
from graphpe.nn.attention.rotation import rotate
from graphpe.testing import check_encoder


@pytest.mark.parametrize("learned", [False, True])
def test_equals_the_formula(learned: bool) -> None:
    encoder, batch = RotaryEncoder(6, 5, learned=learned).double().eval(), batch_of()
    expected = [encoder.frequencies @ row for row in batch.laplacian_eigenvector_pe]
    assert largest_error(encoder(batch), torch.stack(expected)) < 1e-12
    assert bool(list(encoder.parameters())) == learned
    assert encoder.state_dict().keys() == {"frequencies"}


def test_rotations_keep_lengths_and_see_differences_alone() -> None:
    """As complex numbers: channel m is the real part, channel m + d/2 the imaginary one."""
    heads, width = 3, 4
    q, k = torch.randn(2, 10, heads * 2 * width).double()
    a, b = 10 * torch.randn(2, 10, heads * width).double()

    def planes(x):
        return torch.view_as_complex(x.view(10, heads, 2, width).transpose(2, 3).contiguous())

    rotated_q, rotated_k = rotate(q, a, heads), rotate(k, b, heads)
    turned = planes(q) * torch.polar(torch.ones_like(a), a).view(10, heads, width)
    torch.testing.assert_close(planes(rotated_q), turned)
    torch.testing.assert_close(planes(rotated_q).abs(), planes(q).abs())
    logit = (rotated_q.view(10, heads, -1) * rotated_k.view(10, heads, -1)).sum(-1)
    cosine = torch.cos((b - a).view(10, heads, width) + (planes(k) / planes(q)).angle())
    expected = (planes(q).abs() * planes(k).abs() * cosine).sum(-1)
    torch.testing.assert_close(logit, expected)
    shift = torch.randn(heads * width).double()
    shifted = rotate(q, a + shift, heads) * rotate(k, b + shift, heads)
    torch.testing.assert_close(shifted.view(10, heads, -1).sum(-1), logit)
    torch.testing.assert_close(rotate(q, torch.zeros_like(a), heads), q)


def test_frequencies_make_a_gaussian_kernel() -> None:
    """The mean of cos(ω · Δ) over draws is exp(-σ² |Δ|² / 2)."""
    torch.manual_seed(0)
    difference, scale = torch.tensor([0.3, -0.5, 0.1]), 1.7
    angles = RotaryEncoder(3, 100_000, "x_pe", scale=scale).frequencies.detach() @ difference
    expected = math.exp(-(scale**2) * float(difference.square().sum()) / 2)
    assert abs(float(angles.cos().mean()) - expected) < 0.01


def test_training_draws_a_sign_for_each_graph_and_column() -> None:
    graph = Data(
        edge_index=torch.zeros(2, 0).long(), num_nodes=2, laplacian_eigenvector_pe=torch.ones(2, 3)
    )
    batch = Batch.from_data_list([graph] * 400)
    encoder = RotaryEncoder(3, 3)
    with torch.no_grad():
        encoder.frequencies.copy_(torch.eye(3))
    signs = encoder(batch).view(400, 2, 3)
    assert torch.equal(signs[:, 0], signs[:, 1])
    assert len(signs[:, 0].unique(dim=0)) == 8
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    assert torch.equal(encoder(batch), torch.ones(800, 3))
    for silent in (RotaryEncoder(3, 3, random_signs=False), RotaryEncoder(3, 3, "x_pe")):
        assert not silent.random_signs
        assert silent.augments == frozenset()
        assert not silent.mixes_graphs_in_training
    silent = RotaryEncoder(3, 3, random_signs=False)
    assert torch.equal(silent(batch), silent.eval()(batch))


def test_angles_are_precise_in_mixed_precision() -> None:
    """In bfloat16 an angle of 100 would be off by a quarter."""
    encoder, batch = RotaryEncoder(6, 5, scale=300.0).eval(), batch_of()
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(encoder(batch), expected)
    half = RotaryEncoder(6, 5).bfloat16().eval()
    assert half(batch).dtype == torch.float32


def test_keeps_the_contract_with_other_coordinates() -> None:
    every = graphs(4)
    for graph in every.values():
        graph.random_walk_pe = torch.rand(graph.num_nodes, 3).double()
    check_encoder(RotaryEncoder(3, 4, "random_walk_pe", "AddRandomWalkPE"), every)


def transformer(**settings) -> Transformer:
    return Transformer(FEATURES, 2, 16, 2, 4, **settings).double().eval()


def test_attention_follows_distances_of_coordinates() -> None:
    """Rows of equal q and k: the logit of a pair is the sum of cosines of its differences."""
    encoder = RotaryEncoder(6, 8)
    network = transformer(positional_encoders=[encoder])
    batch = batch_of("path")
    layer = network.layers[0]
    with torch.no_grad():
        layer.attention.project.weight[:32] = 0
        layer.attention.project.bias[:32] = 1
    angles = encoder(batch)
    difference = (angles[:, None] - angles[None]).view(6, 6, 4, 2)
    logits = (2 * difference.cos().sum(-1) / math.sqrt(4)).permute(2, 0, 1)
    x = network.node_embedding(batch)
    value = layer.attention.project(x)[:, 32:].view(6, 4, 4)
    attended = torch.einsum("hij,jhd->ihd", logits.softmax(-1), value).flatten(1)
    z = layer.first_norm(x + layer.attention.output(attended))
    expected = layer.second_norm(z + layer.feed_forward(z))
    seen = []
    layer.register_forward_hook(lambda *arguments: seen.append(arguments[-1]))
    network(batch)
    torch.testing.assert_close(seen[0], expected)


@pytest.mark.parametrize("readout", ["mean", "virtual_node"])
def test_a_network_with_rotary_attention_and_biases(readout: str) -> None:
    every = list(graphs(6).values())
    for graph in every:
        graph.relation = torch.randn(graph.num_nodes**2, 3).double()
    encoders = [RotaryEncoder(6, 8), PairEncoder(3, 4, "relation", num_layers=1)]
    network = transformer(readout=readout, positional_encoders=encoders)
    together = network(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-12
    together.sum().backward()
    assert encoders[0].frequencies.grad.isfinite().all()
    assert encoders[0].frequencies.grad.abs().sum() > 0


def test_says_that_it_is_not_invariant() -> None:
    network = transformer(positional_encoders=[RotaryEncoder(6, 8)])
    basis = Field("laplacian_eigenvector_pe", "node", 6, symmetry="basis")
    with pytest.warns(
        UserWarning, match="RotaryEncoder is not invariant.*only to signs, which it l"
    ):
        network.check_fields({basis.name: basis})


def test_learns_signs_only_if_it_draws_them() -> None:
    encoder = RotaryEncoder(6, 8, random_signs=False)
    network = transformer(positional_encoders=[encoder])
    sign = Field("laplacian_eigenvector_pe", "node", 6, symmetry="sign")
    with pytest.warns(UserWarning, match="sign of each column.*RotaryEncoder is not invariant"):
        network.check_fields({sign.name: sign})
    network = transformer(positional_encoders=[RotaryEncoder(6, 8)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network.check_fields({sign.name: sign})


def test_settings() -> None:
    for name, value, message in (
        ("in_channels", 0, "in_channels is 0"),
        ("out_channels", 0, "out_channels is 0"),
        ("learned", 1, "learned is 1; it must be True or False"),
        ("scale", 0.0, "scale is 0.0; it must be a finite number > 0"),
        ("random_signs", "no", "random_signs is 'no'"),
    ):
        with pytest.raises(ValueError, match=message):
            RotaryEncoder(**{"in_channels": 3, "out_channels": 4, name: value})
    with pytest.raises(ValueError, match="AddLaplacianEigenvectorPE"):
        RotaryEncoder(3, 4)(Data(num_nodes=2, edge_index=torch.zeros(2, 0).long()))
