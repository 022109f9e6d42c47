"""The ρ of SPE: networks on node pairs."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphpe.nn import rows as row_networks
from graphpe.nn.columns import node_columns
from graphpe.nn.layout import graph_layout, node_pairs
from graphpe.nn.pairs import pair_gin, pair_networks
from graphpe.nn.pairs.pair_networks import PairGIN, PairGINDeepSets, PairMLP


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


def dense_gin(network: PairGIN, x: Tensor, graph: Data) -> Tensor:
    """The layers on ``[n, columns, c]`` of one graph, by its adjacency matrix."""
    n = graph.num_nodes
    adjacency = torch.zeros(n, n, dtype=x.dtype)
    for u, v in graph.edge_index.t().tolist():
        adjacency[v, u] += 1
    for epsilon, mlp in zip(network.epsilon, network.mlps, strict=True):
        x = (1 + epsilon) * x + torch.einsum("vu,ujc->vjc", adjacency, x)
        x = mlp(x.flatten(0, 1)).unflatten(0, (n, -1)) if n * x.size(1) else x.new_zeros(n, 0, 4)
    return x


def test_gin_takes_other_columns_than_nodes() -> None:
    """More, fewer or no columns: graphs of 4, 3 and 2 nodes with 2, 5 and no columns."""
    batch = directed_graphs()
    counts = torch.tensor([2, 5, 0])
    columns = node_columns(graph_layout(batch), counts)
    network = PairGIN(3, 5, 4, num_layers=2, norm="layer").double()
    x = torch.randn(len(columns), 3, dtype=torch.float64)
    by_graph = network(x, columns, batch.edge_index).split([8, 15, 0])
    for graph, own, got in zip(batch.to_data_list(), x.split([8, 15, 0]), by_graph, strict=True):
        own = own.reshape(graph.num_nodes, -1, 3) if len(own) else own.view(graph.num_nodes, 0, 3)
        torch.testing.assert_close(got, dense_gin(network, own, graph).flatten(0, 1))


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_deep_sets_after_gin_see_all_columns_of_a_node(norm: str) -> None:
    batch = directed_graphs()
    pairs = node_pairs(graph_layout(batch))
    network = PairGINDeepSets(3, 5, 4, num_layers=2, norm=norm).double()
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    got = network(x, pairs, batch.edge_index)
    mapped = network.forward_mapped(x @ network.first_weight.t(), pairs, batch.edge_index)
    torch.testing.assert_close(mapped, got)

    sizes = [graph.num_nodes for graph in batch.to_data_list()]
    squares = [n * n for n in sizes]
    for graph, own, rows in zip(
        batch.to_data_list(), x.split(squares), got.split(squares), strict=True
    ):
        n = graph.num_nodes
        z = dense_gin(network.gin, own.view(n, n, 3), graph)
        u = network.own[0](z) + z.mean(1, keepdim=True) @ network.mean[0].weight.t()
        u = (nn.functional.layer_norm(u, u.shape[2:]) if norm == "layer" else u).relu()
        y = network.own[1](u) + u.mean(1, keepdim=True) @ network.mean[1].weight.t()
        torch.testing.assert_close(rows, y.flatten(0, 1))


def test_deep_sets_permute_with_the_columns() -> None:
    batch = directed_graphs()
    counts = torch.tensor([3, 3, 3])
    columns = node_columns(graph_layout(batch), counts)
    network = PairGINDeepSets(2, 5, 4, 2, "layer").double()
    x = torch.randn(9, 3, 2, dtype=torch.float64)
    order = [2, 0, 1]
    expected = network(x.flatten(0, 1), columns, batch.edge_index).view(9, 3, 4)
    got = network(x[:, order].flatten(0, 1), columns, batch.edge_index).view(9, 3, 4)
    torch.testing.assert_close(got, expected[:, order])


@pytest.mark.parametrize("kind", [PairGIN, PairMLP, PairGINDeepSets])
@pytest.mark.parametrize("backward_inside", [True, False])
def test_autocast(kind: type, backward_inside: bool) -> None:
    """In bfloat16, inputs and messages may be in other types than parameters."""
    torch.manual_seed(0)
    batch = directed_graphs()
    pairs = node_pairs(graph_layout(batch))
    network = kind(3, 16, 4, 2, "none")
    values = torch.randn(len(pairs), 3)
    results = []
    for enabled in (False, True):
        x = values.clone().requires_grad_()
        network.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            output = network(x, pairs, batch.edge_index)
            if backward_inside:
                output.float().square().sum().backward()
        if not backward_inside:
            output.float().square().sum().backward()
        gradients = [parameter.grad for parameter in network.parameters()]
        results.append([output.float().detach(), x.grad, *gradients])
    for expected, got in zip(*results, strict=True):
        assert got.isfinite().all()
        assert (got - expected).norm() <= 0.2 * expected.norm()


@pytest.mark.parametrize("kind", [PairGIN, PairMLP, PairGINDeepSets])
@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_blocks_of_rows_change_nothing(kind: type, norm: str, monkeypatch) -> None:
    batch = batch_of("path", "complete", "cycle (double eigenvalues)")
    pairs = node_pairs(graph_layout(batch))
    network = kind(3, 5, 4, 2, norm).double()
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    whole = network(x, pairs, batch.edge_index)
    monkeypatch.setattr(row_networks, "_ROWS_IN_CACHE", 7)
    monkeypatch.setattr(pair_gin, "_NUMBERS_IN_CACHE", 7 * 5)
    assert largest_error(network(x, pairs, batch.edge_index), whole) < 1e-12


def test_epsilon_starts_from_a_normal_distribution() -> None:
    epsilon = torch.cat(list(PairGIN(1, 1, 1, num_layers=500, norm="none").epsilon)).detach()
    assert abs(float(epsilon.mean())) < 0.15
    assert abs(float(epsilon.std()) - 1) < 0.15


def test_names() -> None:
    kinds = {"gin": PairGIN, "mlp": PairMLP, "gin_deepsets": PairGINDeepSets}
    assert kinds == pair_networks.PAIR_NETWORKS


def test_mlp_ignores_edges() -> None:
    batch = batch_of("path", "complete")
    pairs = node_pairs(graph_layout(batch))
    network = PairMLP(3, 5, 4, 3, "layer")
    x = torch.randn(len(pairs), 3)
    torch.testing.assert_close(network(x, pairs, batch.edge_index), network.mlp(x))
