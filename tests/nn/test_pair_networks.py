"""The ρ of SPE: networks on node pairs."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import pair_networks
from graphpe.nn.layout import graph_layout, node_pairs
from graphpe.nn.pair_networks import PairGIN, PairMLP


def directed_graphs() -> Batch:
    """Directed graphs with loops and parallel edges; the middle one has no edges."""
    graphs = [
        Data(num_nodes=4, edge_index=torch.tensor([[0, 0, 1, 3, 2, 2], [1, 1, 2, 2, 2, 0]])),
        Data(num_nodes=3, edge_index=torch.zeros(2, 0, dtype=torch.long)),
        Data(num_nodes=2, edge_index=torch.tensor([[1], [0]])),
    ]
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_gin_is_a_gin_on_each_column(norm: str) -> None:
    batch = directed_graphs()
    layout = graph_layout(batch)
    pairs = node_pairs(layout)
    network = PairGIN(3, 5, 4, num_layers=3, norm=norm).double()
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    got = network(x, pairs, batch.edge_index)

    start = 0
    for graph in batch.to_data_list():
        n = graph.num_nodes
        adjacency = torch.zeros(n, n, dtype=torch.float64)
        for u, v in graph.edge_index.t().tolist():
            adjacency[v, u] += 1
        hidden = x[start : start + n * n].view(n, n, 3)
        for epsilon, mlp in zip(network.epsilon, network.mlps, strict=True):
            hidden = (1 + epsilon) * hidden + torch.einsum("vu,ujc->vjc", adjacency, hidden)
            hidden = mlp(hidden.flatten(0, 1)).view(n, n, -1)
        torch.testing.assert_close(got[start : start + n * n], hidden.flatten(0, 1))
        start += n * n


def test_gradient_of_gin() -> None:
    batch = directed_graphs()
    pairs = node_pairs(graph_layout(batch))
    network = PairGIN(2, 3, 1, num_layers=2, norm="layer").double()
    x = torch.randn(len(pairs), 2, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in network.named_parameters()]

    def function(x, *parameters):
        arguments = (x, pairs, batch.edge_index)
        return torch.func.functional_call(
            network, dict(zip(names, parameters, strict=True)), arguments
        )

    assert torch.autograd.gradcheck(function, (x, *network.parameters()))


@pytest.mark.parametrize("kind", [PairGIN, PairMLP])
@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_blocks_of_rows_change_nothing(kind: type, norm: str, monkeypatch) -> None:
    batch = batch_of("path", "complete", "cycle (double eigenvalues)")
    pairs = node_pairs(graph_layout(batch))
    network = kind(3, 5, 4, 2, norm).double()
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    whole = network(x, pairs, batch.edge_index)
    monkeypatch.setattr(pair_networks, "_ROWS_IN_CACHE", 7)
    assert largest_error(network(x, pairs, batch.edge_index), whole) < 1e-12


def test_epsilon_starts_from_a_normal_distribution() -> None:
    epsilon = torch.cat(list(PairGIN(1, 1, 1, num_layers=500, norm="none").epsilon)).detach()
    assert abs(float(epsilon.mean())) < 0.15
    assert abs(float(epsilon.std()) - 1) < 0.15


def test_mlp_ignores_edges() -> None:
    batch = batch_of("path", "complete")
    pairs = node_pairs(graph_layout(batch))
    network = PairMLP(3, 5, 4, 3, "layer")
    x = torch.randn(len(pairs), 3)
    torch.testing.assert_close(network(x, pairs, batch.edge_index), network.mlp(x))
