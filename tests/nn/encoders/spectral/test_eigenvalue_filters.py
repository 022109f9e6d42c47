"""The φ of SPE: many small networks computed together."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from graphpe.nn.encoders.spectral.eigenvalue_filters import (
    DeepSetsFilters,
    ElementwiseFilters,
    TransformerFilters,
    place_weights,
)

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


def apply(linear: nn.Module, group: int, x: Tensor) -> Tensor:
    return x @ linear.weight[group] + linear.bias[group]


def normalize(norm: nn.Module, group: int, x: Tensor) -> Tensor:
    if norm.kind == "none":
        return x
    return nn.functional.layer_norm(x, x.shape[1:]) * norm.weight[group] + norm.bias[group]


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_transformer_filters_attend_inside_their_graph(norm: str) -> None:
    filters = TransformerFilters(5, hidden_channels=7, num_layers=2, norm=norm)
    weights = filters(EIGENVALUES, GRAPH, 5)
    assert weights.shape == (6, 5)
    for group in range(5):
        for graph in range(4):
            x = apply(filters.first, group, EIGENVALUES[graph == GRAPH][:, None])
            for layer in filters.layers:
                normal = normalize(layer.attention_norm, group, x)
                query, key, value = apply(layer.project, group, normal).split(7, dim=1)
                attention = (query @ key.t() / math.sqrt(7)).softmax(1)
                x = x + apply(layer.out, group, attention @ value)
                normal = normalize(layer.perceptron_norm, group, x)
                hidden = apply(layer.linears[0], group, normal).relu()
                x = x + apply(layer.linears[1], group, hidden)
            expected = apply(filters.last, group, x)[:, 0]
            torch.testing.assert_close(weights[graph == GRAPH, group], expected)
    assert weights.std(dim=1).min() > 1e-3  # the networks differ


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("kind", [DeepSetsFilters, TransformerFilters])
def test_filters_of_sets_permute_with_the_eigenvalues(kind: type, norm: str) -> None:
    """Equal eigenvalues have equal weights; one graph with many next to graphs with one, two and none."""
    filters = make(kind, norm, num_filters=3).double()
    graph = torch.tensor([0] * 70 + [2, 3, 3, 5, 5, 5])
    values = torch.randn(76, dtype=torch.float64)
    values[[1, 8, 40]] = values[0].item()
    values[74] = values[73].item()
    expected = filters(values, graph, 7)
    torch.testing.assert_close(expected[[1, 8, 40]], expected[:1].expand(3, 3))
    torch.testing.assert_close(expected[74], expected[73])
    order = torch.cat([torch.randperm(70), torch.tensor([70, 72, 71, 75, 73, 74])])
    torch.testing.assert_close(filters(values[order], graph, 7), expected[order])
    if norm != "batch":
        torch.testing.assert_close(filters(values[71:73], graph[71:73] - 3, 1), expected[71:73])


def make(kind: type, norm: str, num_filters: int = 3, num_layers: int = 3) -> nn.Module:
    torch.manual_seed(0)
    arguments = () if kind is DeepSetsFilters else (norm,)
    return kind(num_filters, 8, num_layers, *arguments)


def slopes(filters: nn.Module) -> Tensor:
    """Finite differences of all weights on a fine grid, also far outside of a spectrum."""
    grid = torch.cat([torch.linspace(-100, 100, 501), torch.linspace(-0.1, 2.1, 2001)]).double()
    grid = grid.sort().values.unique()
    weights = filters(grid, torch.zeros(len(grid), dtype=torch.long), 1)
    return weights.diff(dim=0).abs() / grid.diff()[:, None]


@pytest.mark.parametrize("num_layers", [1, 2, 3, 5])
@pytest.mark.parametrize("lipschitz", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("size", [1.0, 100.0, 1e12])
def test_no_parameters_break_the_bound(lipschitz: float, num_layers: int, size: float) -> None:
    torch.manual_seed(0)
    filters = ElementwiseFilters(4, 8, num_layers, "none", lipschitz).double()
    with torch.no_grad():
        for linear in filters.linears:
            linear.weight.mul_(size)
    steepest = slopes(filters).max()
    assert steepest <= lipschitz * (1 + 1e-6)
    if num_layers == 1 and size > 1:
        assert steepest > 0.999 * lipschitz  # the bound is attained
    weight = filters.linears[0].weight
    assert bool(weight.isfinite().all())


def test_the_bound_is_attained_by_the_worst_parameters() -> None:
    """All weights positive and equal: rank one, no ReLU in the way. Without the option the slope is large."""
    for lipschitz, wanted in ((2.0, 2.0), (None, 8 * 8 * 3.0**3)):
        filters = ElementwiseFilters(2, 8, 3, "none", lipschitz).double()
        with torch.no_grad():
            for linear in filters.linears:
                linear.weight.fill_(3.0)
                linear.bias.fill_(1e3)
        torch.testing.assert_close(slopes(filters).max().item(), wanted, rtol=1e-6, atol=0)


def test_small_weights_are_left_as_they_are() -> None:
    free, bounded = (ElementwiseFilters(3, 8, 3, "none", bound) for bound in (None, 1e3))
    bounded.load_state_dict(free.state_dict())
    assert torch.equal(bounded(EIGENVALUES, GRAPH, 4), free(EIGENVALUES, GRAPH, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e15])
def test_gradients_of_bounded_weights_are_finite(size: float, dtype: torch.dtype) -> None:
    filters = ElementwiseFilters(3, 8, 3, "none", 1.0).to(dtype)
    with torch.no_grad():
        for linear in filters.linears:
            linear.weight.mul_(size)
    filters(EIGENVALUES.to(dtype), GRAPH, 4).sum().backward()
    assert all(p.grad.isfinite().all() for p in filters.parameters())


def test_a_normalization_has_no_bound() -> None:
    with pytest.raises(ValueError, match=r"norm is 'layer', which has no bound; .* take 'none'"):
        ElementwiseFilters(3, 8, 3, "layer", 1.0)


def test_weights_in_their_places() -> None:
    valid = torch.tensor([[True, False], [False, True]])
    weights = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.bfloat16)
    placed = place_weights(weights, valid)
    assert placed.dtype == torch.bfloat16
    assert placed.tolist() == [[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]]]


@pytest.mark.parametrize("kind", [ElementwiseFilters, DeepSetsFilters, TransformerFilters])
def test_autocast(kind: type) -> None:
    filters = make(kind, "layer")
    expected = filters(EIGENVALUES, GRAPH, 4)
    with torch.autocast("cpu", torch.bfloat16):
        got = filters(EIGENVALUES, GRAPH, 4)
    got.float().sum().backward()
    torch.testing.assert_close(got.float(), expected, atol=0.1, rtol=0.1)
    assert all(p.grad.isfinite().all() for p in filters.parameters())


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_eigenvalue(norm: str, count: int) -> None:
    for kind in (ElementwiseFilters, DeepSetsFilters, TransformerFilters):
        filters = make(kind, norm)
        weights = filters(torch.ones(count), torch.zeros(count, dtype=torch.long), 2)
        assert weights.shape == (count, 3)
        weights.sum().backward()
        assert all(p.grad.isfinite().all() for p in filters.parameters())
