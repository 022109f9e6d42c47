"""Keyed random numbers: the distributions are right, and no draw depends on another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor

from graphpe.linalg.draws.random_numbers import (
    combine,
    mix,
    normal,
    rademacher,
    random_bits,
    uniform,
)

DRAWS = [uniform, normal, rademacher]
Draw = Callable[[Tensor, int, int], Tensor]


def test_the_bits_are_those_of_splitmix64() -> None:
    """The finaliser, against its definition in Python's unbounded integers."""

    def reference(value: int) -> int:
        value &= 2**64 - 1
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)

    values = [0, 1, 2, -1, 2**63 - 1, -(2**63), 123456789, -987654321]
    got = mix(torch.tensor(values)).tolist()
    assert [value % 2**64 for value in got] == [reference(value) for value in values]


@pytest.mark.parametrize("draw", DRAWS)
def test_shape_and_dtype(draw: Draw) -> None:
    keys = torch.arange(3)
    for rows, columns in [(4, 5), (0, 5), (4, 0), (1, 1)]:
        values = draw(keys, rows, columns)
        assert values.shape == (3, rows, columns)
        assert values.dtype == torch.float64
    assert draw(keys[:0], 4, 5).shape == (0, 4, 5)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("rows", "columns"), [(7, 5), (1, 1), (25, 16)])
def test_a_draw_depends_on_its_key_and_position_alone(draw: Draw, rows: int, columns: int) -> None:
    keys = mix(torch.arange(33))
    together = draw(keys, rows, columns)
    for number, key in enumerate(keys):
        assert torch.equal(draw(key[None], rows, columns)[0], together[number])
    assert torch.equal(draw(keys.flip(0), rows, columns).flip(0), together)
    assert torch.equal(draw(keys, rows + 9, columns + 3)[:, :rows, :columns], together)


def test_uniform_is_uniform_and_never_at_the_ends() -> None:
    values = uniform(torch.arange(50), 100, 40).numpy().ravel()
    assert (values * 2**53 % 2 == 1).all()  # so none is 0 or 1
    counts = np.histogram(values, bins=1000, range=(0, 1))[0]
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    assert scipy.stats.kstest(values, "uniform").pvalue > 1e-3


def test_normal_is_normal() -> None:
    values = normal(torch.arange(50), 100, 40).numpy().ravel()
    assert scipy.stats.kstest(values, "norm").pvalue > 1e-3
    assert abs(values.mean()) < 4 / np.sqrt(values.size)
    assert abs(values.var() - 1) < 4 * np.sqrt(2 / values.size)


def test_rademacher_is_a_fair_coin() -> None:
    values = rademacher(torch.arange(50), 100, 40)
    assert set(values.unique().tolist()) == {-1.0, 1.0}
    assert abs(float(values.mean())) < 4 / np.sqrt(values.numel())


def test_every_bit_is_a_fair_coin() -> None:
    bits = random_bits(torch.arange(20), 50, 20).flatten()
    for position in range(64):
        ones = float(((bits >> position) & 1).double().mean())
        assert abs(ones - 0.5) < 4 * 0.5 / np.sqrt(len(bits)), f"bit {position}"


@pytest.mark.parametrize("draw", DRAWS)
def test_neighbouring_keys_rows_and_columns_are_not_correlated(draw: Draw) -> None:
    values = draw(torch.arange(40), 40, 40)
    values = (values - values.mean()) / values.std()
    for dimension in range(3):
        for lag in (1, 2, 3):
            length = values.shape[dimension] - lag
            first = values.narrow(dimension, 0, length)
            second = values.narrow(dimension, lag, length)
            assert abs(float((first * second).mean())) < 4 / np.sqrt(first.numel())


def test_positions_do_not_repeat_each_other() -> None:
    """Entry [r, c] is not that of [c, r], nor that of another key's other row."""
    bits = random_bits(torch.arange(30), 30, 30)
    assert len(bits.unique()) == bits.numel()


def test_combined_keys_depend_on_the_order() -> None:
    a, b = torch.arange(50)[:, None], torch.arange(50)[None]
    assert len(combine(a, b).unique()) == 2500
