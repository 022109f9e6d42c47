"""The φ of SPE: many small networks computed together."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from graphpe.nn.encoders.spectral.eigenvalue_filters import DeepSetsFilters, ElementwiseFilters

GRAPH = torch.tensor([0, 0, 0, 1, 3, 3])
EIGENVALUES = torch.tensor([-0.3, 0.5, 1.5, 0.0, 0.0, 2.0])


def elementwise_by_hand(filters: ElementwiseFilters, group: int, norm: str) -> Tensor:
    x = EIGENVALUES[:, None]
    for number, linear in enumerate(filters.linears):
        x = x @ linear.weight[group] + linear.bias[group]
        if number < len(filters.linears) - 1:
            if norm == "layer":
                x = nn.functional.layer_norm(x, x.shape[1:])
            elif norm == "batch":
                x = nn.functional.batch_norm(x, None, None, training=True)
            x = x.relu()
    return x[:, 0]


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_elementwise_filters_are_perceptrons_of_single_eigenvalues(norm: str) -> None:
    filters = ElementwiseFilters(5, hidden_channels=7, num_layers=3, norm=norm)
    weights = filters(EIGENVALUES, GRAPH, 4)
    expected = torch.stack([elementwise_by_hand(filters, g, norm) for g in range(5)], dim=1)
    torch.testing.assert_close(weights, expected)
    assert weights.std(dim=1).min() > 1e-3  # the networks differ


def test_layer_normalization_has_a_gain_and_bias_for_each_network() -> None:
    filters = ElementwiseFilters(2, hidden_channels=4, num_layers=2, norm="layer")
    before = filters(EIGENVALUES, GRAPH, 4)
    with torch.no_grad():
        filters.norms[0].weight[1] *= 2
        filters.norms[0].bias[1] += 1
    after = filters(EIGENVALUES, GRAPH, 4)
    assert torch.equal(after[:, 0], before[:, 0])
    assert not torch.isclose(after[:, 1], before[:, 1]).any()


def test_deep_sets_filters_see_the_eigenvalues_of_their_graph() -> None:
    filters = DeepSetsFilters(5, hidden_channels=7, num_layers=3)
    weights = filters(EIGENVALUES, GRAPH, 4)
    for group in range(5):
        for graph in range(4):
            x = EIGENVALUES[graph == GRAPH][:, None]
            for layer in range(3):
                x = x.relu() if layer else x
                own, total = filters.own[layer], filters.total[layer]
                x = x @ own.weight[group] + own.bias[group] + x.sum(0) @ total.weight[group]
            torch.testing.assert_close(weights[graph == GRAPH, group], x[:, 0])


def test_weights_may_be_negative() -> None:
    """The published DeepSets ends in a ReLU, which can make all weights zero for good."""
    torch.manual_seed(3)
    assert (DeepSetsFilters(20, 8, 4)(EIGENVALUES, GRAPH, 4) < 0).any()


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_eigenvalue(norm: str, count: int) -> None:
    for filters in (ElementwiseFilters(3, 4, 3, norm), DeepSetsFilters(3, 4, 3)):
        weights = filters(torch.ones(count), torch.zeros(count, dtype=torch.long), 2)
        assert weights.shape == (count, 3)
        weights.sum().backward()
        assert all(p.grad.isfinite().all() for p in filters.parameters())
