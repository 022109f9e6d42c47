"""Pooling of nodes."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of

from graphpe.nn import Readout
from graphpe.nn.layout import graph_layout


@pytest.mark.parametrize(
    ("kind", "expected"), [("mean", [0, 0.5, 0, 2]), ("sum", [0, 1, 0, 2]), ("max", [0, 1, 0, 2])]
)
def test_graphs_without_nodes_keep_their_row(kind: str, expected: list[float]) -> None:
    layout = graph_layout(batch_of("no nodes", "two nodes", "no nodes", "one node"))
    pooled = Readout(kind)(torch.tensor([[0.0], [1.0], [2.0]]), layout)
    assert pooled[:, 0].tolist() == expected


def test_trailing_empty_graph() -> None:
    layout = graph_layout(batch_of("one node", "no nodes"))
    assert Readout("mean")(torch.ones(1, 2), layout).tolist() == [[1, 1], [0, 0]]


def test_unknown_readout_is_refused() -> None:
    with pytest.raises(ValueError, match="readout is 'median'"):
        Readout("median")
