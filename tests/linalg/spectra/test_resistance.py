"""Effective resistances: exact fractions, closed forms, and weights over sixty orders of magnitude."""

from __future__ import annotations

from fractions import Fraction

import networkx
import numpy as np
import pytest
import torch
from adjacency_zoo import adjacency, random_stack
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.spectra.resistance import effective_resistances


def exact_resistance(weights: list[list[Fraction]], i: int, j: int) -> Fraction:
    """Solve the Laplacian, grounded at j, for a unit current into i, by fractions."""
    n = len(weights)
    kept = [node for node in range(n) if node != j]
    rows = [
        [sum(weights[u]) if u == v else -weights[u][v] for v in kept] + [Fraction(int(u == i))]
        for u in kept
    ]
    for pivot in range(n - 1):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(n - 1):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)
                ]
    return rows[kept.index(i)][-1]


@st.composite
def connected_graphs(draw: st.DrawFn) -> list[list[Fraction]]:
    n = draw(st.integers(2, 7))
    weights = [[Fraction(0)] * n for _ in range(n)]
    edges = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    edges += draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
    for u, v in edges:
        if u != v:
            exponent = draw(st.floats(-30, 30))
            weights[u][v] = weights[v][u] = Fraction(10.0**exponent)
    return weights


@given(connected_graphs())
def test_all_digits_are_right_whatever_the_weights(weights):
    """By L⁺ nothing would be left of most of them: it is right relative to its largest entry only."""
    n = len(weights)
    matrix = torch.tensor([[float(w) for w in row] for row in weights], dtype=torch.float64)
    values = effective_resistances(matrix[None])[0]
    for i in range(n):
        for j in range(i):
            assert float(values[i, j]) == pytest.approx(
                float(exact_resistance(weights, i, j)), rel=1e-12
            )
    assert torch.equal(values, values.T)
    assert not values.diagonal().any()


def test_closed_forms():
    n = 9
    path = effective_resistances(adjacency(networkx.path_graph(n)))[0]
    hops = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    np.testing.assert_allclose(path, hops, rtol=1e-14)
    cycle = effective_resistances(adjacency(networkx.cycle_graph(n)))[0]
    np.testing.assert_allclose(cycle, hops * (n - hops) / n, rtol=1e-13)
    complete = effective_resistances(adjacency(networkx.complete_graph(n)))[0]
    np.testing.assert_allclose(complete, (1 - np.eye(n)) * 2 / n, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 37])
def test_same_bytes_whatever_the_stack(n):
    stack = random_stack(200, n)
    values = effective_resistances(stack)
    for part in (slice(0, 1), slice(3, 10), slice(199, 200)):
        assert torch.equal(effective_resistances(stack[part].clone()), values[part])


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape):
    values = effective_resistances(torch.zeros(shape, dtype=torch.float64))
    assert values.shape == shape
    assert not values.any()


def test_the_stack_is_not_changed_and_loops_do_not_count():
    stack = random_stack(3, 6)
    looped = stack + torch.eye(6)
    before = looped.clone()
    assert torch.equal(effective_resistances(looped), effective_resistances(stack))
    assert torch.equal(looped, before)
