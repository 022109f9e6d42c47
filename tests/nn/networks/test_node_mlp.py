"""The network without messages; what it shares with the others is in test_networks.py and test_levels.py."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, batch_of

from graphpe.nn import NodeMLP


def test_a_network_without_layers_is_its_head() -> None:
    batch = batch_of("path", "complete")
    network = NodeMLP(FEATURES, 2, 16, 0, level="node")
    assert torch.equal(network(batch), network.head.network(network.node_embedding(batch)))
    with pytest.raises(ValueError, match="num_layers is -1; it must be an integer >= 0"):
        NodeMLP(FEATURES, num_layers=-1)
    with pytest.raises(ValueError, match="norm is 'group'"):
        NodeMLP(FEATURES, norm="group", level="pair")


def test_a_network_without_messages_does_not_see_edges() -> None:
    batch = batch_of("path", "complete")
    network = NodeMLP(FEATURES, 2, 16, 2)
    expected = network(batch)
    batch.edge_index, batch.edge_attr = batch.edge_index[:, :3], None
    assert torch.equal(network(batch), expected)
    x = network.node_embedding(batch)
    for layer in network.layers:
        first, second = layer[0].lins
        x = x + second(layer[0].norms[0](first(x)).relu())
    torch.testing.assert_close(
        network.propagate(network.node_embedding(batch), batch, None, None), x
    )
