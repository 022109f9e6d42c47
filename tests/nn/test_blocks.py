"""Normalisation and perceptrons."""

from __future__ import annotations

import pytest
import torch

from graphpe.nn.blocks import (
    PartwiseLinear,
    check_not_negative,
    check_positive,
    mlp,
    normalization,
)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("kind", ["batch", "layer", "none"])
def test_no_or_one_row_in_training(kind: str, rows: int) -> None:
    """B35, pyg#1408: BatchNorm raised in training when there was one row only."""
    network = mlp([3, 4, 2], kind)
    state = {name: value.clone() for name, value in network.state_dict().items()}
    x = torch.randn(rows, 3, requires_grad=True)
    network(x).sum().backward()
    assert x.grad.isfinite().all()
    for name, value in network.state_dict().items():
        assert torch.equal(value, state[name])  # running statistics did not change


def test_batch_normalization_of_many_rows_is_torchs() -> None:
    x = torch.randn(9, 4)
    ours, theirs = normalization("batch", 4), torch.nn.BatchNorm1d(4)
    assert torch.equal(ours(x), theirs(x))
    assert torch.equal(ours.eval()(x), theirs.eval()(x))


def test_layer_normalization_is_of_each_row() -> None:
    network = mlp([3, 4, 2], "layer")
    x = torch.randn(9, 3)
    torch.testing.assert_close(network(x)[:1], network(x[:1]))


def test_mlp_has_normalization_and_relu_after_all_but_the_last_layer() -> None:
    network = mlp([3, 4, 5, 2], "layer")
    x = torch.randn(7, 3)
    first, second, last = network.lins
    hidden = network.norms[0](first(x)).relu()
    hidden = network.norms[1](second(hidden)).relu()
    torch.testing.assert_close(network(x), last(hidden))


def test_unknown_normalization_is_refused() -> None:
    for build in (lambda: mlp([1, 1], "graph"), lambda: normalization("graph", 1)):
        with pytest.raises(ValueError, match="norm is 'graph'"):
            build()


def test_partwise_linear_is_a_linear_layer_of_the_concatenation() -> None:
    layer = PartwiseLinear([3, 1, 4], 5)
    parts = [torch.randn(7, width) for width in (3, 1, 4)]
    total = sum(layer.part(number, x) for number, x in enumerate(parts))
    torch.testing.assert_close(total, layer(torch.cat(parts, 1)))


@pytest.mark.parametrize("number", [-1, 1.5, None, True])
def test_sizes_must_not_be_negative(number: object) -> None:
    check_not_negative(width=0, depth=2)
    with pytest.raises(ValueError, match=f"depth is {number!r}; it must be an integer >= 0"):
        check_not_negative(width=0, depth=number)


@pytest.mark.parametrize("number", [0, -1, 1.5, None, True])
def test_sizes_must_be_positive(number: object) -> None:
    with pytest.raises(ValueError, match=f"depth is {number!r}"):
        check_positive(width=3, depth=number)
