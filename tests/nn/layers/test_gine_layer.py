"""The GIN layer with edge features."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from graphpe.nn import GINELayer
from graphpe.tasks import Features


@pytest.mark.parametrize("added", [(), (3,), (3, 1)])
@pytest.mark.parametrize("gates", [(), (2,)])
@pytest.mark.parametrize(
    "features", [Features(edge_categories=(4,)), Features(edge_continuous=1), Features()]
)
def test_equals_the_formula(
    features: Features, gates: tuple[int, ...], added: tuple[int, ...]
) -> None:
    layer = GINELayer(features, 6, "layer", 0.0, added, gates).double()
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])
    attribute = torch.tensor([0, 1, 2, 3])
    if features.edge_continuous:
        attribute = attribute.double()
    x = torch.randn(4, 6, dtype=torch.float64)
    encodings, multipliers = (
        [torch.randn(4, width).double() for width in widths] for widths in (added, gates)
    )
    got = layer(x, Data(edge_index=edge_index, edge_attr=attribute), encodings, multipliers)

    edge = torch.zeros(4, 6, dtype=torch.float64)
    if layer.edge_embedding is not None:
        edge = layer.edge_embedding.embed(attribute)
    elif gates and not added:
        edge = edge + 1
    for linear, encoding in zip(layer.edge_encodings.added, encodings, strict=True):
        edge = edge + linear(encoding)
    for linear, encoding in zip(layer.edge_encodings.gates, multipliers, strict=True):
        edge = edge * linear(encoding)
    message = (1 + layer.conv.eps) * x
    for number, (source, target) in enumerate(edge_index.t().tolist()):
        increment = torch.zeros_like(message)
        increment[target] = (x[source] + edge[number]).relu()
        message = message + increment
    torch.testing.assert_close(got, x + layer.conv.nn(message))


def test_epsilon_is_learned_from_a_normal_distribution() -> None:
    layers = [GINELayer(Features(), 1) for _ in range(300)]
    epsilon = torch.cat([layer.conv.eps for layer in layers])
    assert epsilon.requires_grad
    assert abs(float(epsilon.detach().mean())) < 0.2
    assert abs(float(epsilon.detach().std()) - 1) < 0.2
