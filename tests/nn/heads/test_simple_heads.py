"""Heads of graphs and of nodes."""

from __future__ import annotations

import torch
from nn_batches import batch_of

from graphpe.nn import Encodings, GraphHead, NodeHead, Readout, graph_layout

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "no nodes")
SIZES = (6, 0, 1, 5, 2, 0)


def test_node_head_maps_nodes_alone() -> None:
    of = batch_of(*NAMES)
    head, x = NodeHead(torch.nn.Linear(4, 2)), torch.randn(of.num_nodes + 6, 4)
    assert torch.equal(head(x, of, graph_layout(of), Encodings()), head.network(x[:-6]))


def test_graph_head_pools_first() -> None:
    of = batch_of(*NAMES)
    head, x = GraphHead(Readout("sum"), torch.nn.Linear(4, 2)), torch.randn(of.num_nodes, 4)
    expected = head.network(torch.stack([rows.sum(0) for rows in x.split(SIZES)]))
    torch.testing.assert_close(head(x, of, graph_layout(of), Encodings()), expected)
