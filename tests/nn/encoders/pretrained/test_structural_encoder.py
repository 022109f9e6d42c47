from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import StructuralEncoder, graph_layout


def formula(encoder: StructuralEncoder, graph: Data, features: Tensor) -> Tensor:
    """The docstring's formula for one graph in evaluation, node by node and edge by edge."""
    n = graph.num_nodes
    h = encoder.input(features)
    state = torch.zeros(encoder.out_channels, dtype=h.dtype)
    for layer in encoder.layers:
        size = torch.tensor([math.log(1 + n)], dtype=h.dtype)
        state = state + layer.update(torch.cat([h.mean(0), state, size]))
        z = h + state
        conv = layer.conv
        new = [conv.lin_skip(z[i]) + conv.bias for i in range(n)]
        for j, i in graph.edge_index.t().tolist():
            gate = torch.sigmoid(conv.lin_key(z[i]) + conv.lin_query(z[j]))
            new[i] = new[i] + gate * conv.lin_value(z[j])
        h = h + layer.norm(torch.stack(new)).relu()
    return h


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_is_the_formula(norm: str) -> None:
    encoder = StructuralEncoder(8, 3, 5, norm).double()
    encoder(batch_of())  # so that running statistics are not those of the start
    encoder.eval()
    batch = batch_of()
    features = encoder.draw(graph_layout(batch))
    for number, graph in enumerate(batch.to_data_list()):
        if graph.num_nodes:
            own = features[batch.batch == number, 0]
            got = encoder(batch)[batch.batch == number]
            assert largest_error(got, formula(encoder, graph, own)) < 1e-12


def test_reads_neither_features_nor_weights() -> None:
    encoder = StructuralEncoder(8, 2, 5).eval()
    batch = batch_of()
    expected = encoder(batch)
    batch.x = torch.randn(batch.num_nodes, 3)
    batch.edge_attr = batch.edge_weight = torch.rand(batch.num_edges)
    assert torch.equal(encoder(batch), expected)


def test_random_inputs_tell_apart_what_message_passing_cannot() -> None:
    ring = torch.arange(6)
    hexagon = torch.stack([ring, (ring + 1) % 6])
    triangles = torch.stack([ring, torch.tensor([1, 2, 0, 4, 5, 3])])
    graphs = [
        Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=6)
        for edges in (hexagon, triangles)
    ]
    batch = Batch.from_data_list(graphs)
    layout = graph_layout(batch)
    encoder = StructuralEncoder(8, 3, 5).eval()
    equal = encoder.encode(batch, layout, torch.ones(12, 1, 5))
    assert largest_error(equal[:6], equal[6:]) < 1e-6
    drawn = encoder(batch)
    assert largest_error(drawn[:6], drawn[6:]) > 0.01


def test_takes_the_mean_over_draws_in_evaluation() -> None:
    encoder = StructuralEncoder(8, 2, 5, eval_samples=3).eval()
    batch = batch_of()
    layout = graph_layout(batch)
    features = encoder.draw(layout)
    assert features.shape == (batch.num_nodes, 3, 5)
    each = [encoder.encode(batch, layout, features[:, [s]]) for s in range(3)]
    assert largest_error(encoder(batch), sum(each) / 3) < 1e-6
    assert largest_error(each[0], each[1]) > 0.01


def test_draws_anew_in_training_and_never_in_evaluation() -> None:
    encoder = StructuralEncoder(8, 2, 5, "layer")
    batch = batch_of()
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    state = torch.get_rng_state()
    assert torch.equal(encoder(batch), encoder(batch))
    assert torch.equal(torch.get_rng_state(), state)


def test_settings_build_it_again() -> None:
    encoder = StructuralEncoder(8, 2, 5, "none", 2, 7)
    again = StructuralEncoder(**encoder.settings)
    again.load_state_dict(encoder.state_dict())
    batch = batch_of()
    assert torch.equal(again.eval()(batch), encoder.eval()(batch))


def test_integers_of_numpy() -> None:
    encoder = StructuralEncoder(*np.array([8, 2, 5]), "none", *np.array([2, 7]))
    assert encoder.settings == StructuralEncoder(8, 2, 5, "none", 2, 7).settings
    assert {type(encoder.settings[name]) for name in ("hidden_channels", "num_layers", "seed")} == {
        int
    }
    assert encoder.eval()(batch_of()).shape == (batch_of().num_nodes, 8)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"hidden_channels": 0}, "hidden_channels"),
        ({"num_layers": 1.5}, "num_layers"),
        ({"num_features": 0}, "num_features"),
        ({"norm": "group"}, "norm"),
        ({"eval_samples": 0}, "eval_samples"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refuses_bad_settings(settings: dict, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        StructuralEncoder(**settings)
