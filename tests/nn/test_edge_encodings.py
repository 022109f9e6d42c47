"""How encodings enter the vectors of edges."""

from __future__ import annotations

import torch

from graphpe.nn import EdgeEncodings


def affine(linear: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    return x @ linear.weight.t() + linear.bias


def test_equals_the_formula() -> None:
    module = EdgeEncodings(4, [3, 2], [1, 5]).double()
    edge, a, b, g, h = (torch.randn(6, width).double() for width in (4, 3, 2, 1, 5))
    total = edge + affine(module.added[0], a) + affine(module.added[1], b)
    expected = total * affine(module.gates[0], g) * affine(module.gates[1], h)
    torch.testing.assert_close(module(edge, [a, b], [g, h]), expected)


def test_what_is_not_there_is_left_out() -> None:
    added, gated = EdgeEncodings(4, [3]), EdgeEncodings(4, (), [3])
    x, edge = torch.randn(6, 3), torch.randn(6, 4)
    torch.testing.assert_close(added(None, [x], []), affine(added.added[0], x))
    torch.testing.assert_close(gated(None, [], [x]), affine(gated.gates[0], x))  # times 1, not 0
    torch.testing.assert_close(gated(edge, [], [x]), edge * affine(gated.gates[0], x))
    nothing = EdgeEncodings(4)
    assert nothing(None, [], []) is None
    assert nothing(edge, [], []) is edge
    assert not list(nothing.parameters())
