"""PEARL against its formula, graph by graph."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, zoo
from nn_batches import count_parameters, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.linalg.walks.propagation import propagation_matrix
from graphpe.nn import BasisPEARL, RandomPEARL, graph_layout

GRAPHS = zoo()
DIRECTED = graph(5, [(0, 1), (1, 2), (2, 0), (3, 2), (2, 3)], directed=True)


def dense(data: Data) -> Tensor:
    n = data.num_nodes
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    for u, v in data.edge_index.t().tolist():
        adjacency[u, v] += 1
    return adjacency


def by_hand(network, inputs: Tensor, data: Data) -> Tensor:
    """The formula for inputs ``[n, m]`` of one graph; the sum over m is not divided."""
    adjacency = dense(data)
    symmetric = adjacency if network.operator == "walk" else torch.maximum(adjacency, adjacency.T)
    matrix = propagation_matrix(symmetric[None], network.operator)[0]
    powers = torch.stack(
        [torch.linalg.matrix_power(matrix, p) @ inputs for p in range(network.num_powers)], dim=2
    )
    x = network.embedding(powers.flatten(0, 1)).view(*inputs.shape, -1)
    for epsilon, mlp in zip(network.gin.epsilon, network.gin.mlps, strict=True):
        x = (1 + epsilon) * x + torch.einsum("uv,umc->vmc", adjacency, x)
        x = mlp(x.flatten(0, 1)).view(*inputs.shape, -1)
    return x.sum(1)


@pytest.mark.parametrize("operator", ["laplacian", "sym-loops", "walk"])
@pytest.mark.parametrize("num_powers", [1, 4])
def test_basis(operator: str, num_powers: int) -> None:
    encoder = BasisPEARL(6, num_powers, operator, channels=5, hidden_channels=4, num_layers=2)
    encoder = encoder.double().eval()
    graphs = [DIRECTED, *GRAPHS.values()]
    got = encoder(Batch.from_data_list(graphs)).split([data.num_nodes for data in graphs])
    for data, encoded in zip(graphs, got, strict=True):
        identity = torch.eye(data.num_nodes, dtype=torch.float64)
        if data.num_nodes:
            expected = encoder.network.linear(by_hand(encoder.network, identity, data))
            torch.testing.assert_close(encoded, expected)


@pytest.mark.parametrize("operator", ["laplacian", "sym"])
@pytest.mark.parametrize("num_powers", [1, 3])
def test_random(operator: str, num_powers: int) -> None:
    encoder = RandomPEARL(
        6, 7, num_powers, operator, channels=5, hidden_channels=4, num_layers=2, eval_samples=2
    )
    encoder = encoder.double().eval()
    graphs = [DIRECTED, *GRAPHS.values()]
    batch = Batch.from_data_list(graphs)
    sizes = [data.num_nodes for data in graphs]
    features = encoder.draw(graph_layout(batch)).split(sizes)
    got = encoder(batch).split(sizes)
    for data, numbers, encoded in zip(graphs, features, got, strict=True):
        if data.num_nodes:
            sums = [by_hand(encoder.network, numbers[:, sample], data) for sample in range(2)]
            expected = encoder.network.linear(torch.stack(sums).mean(0))
            torch.testing.assert_close(encoded, expected)


def test_random_numbers() -> None:
    encoder = RandomPEARL(3, 4, num_layers=1)
    batch = Batch.from_data_list([GRAPHS["path"], GRAPHS["one node"]])
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))


def test_independent_of_the_batch() -> None:
    """One larger graph next to tiny ones."""
    larger = from_networkx(networkx.random_regular_graph(3, 200, seed=0))
    graphs = [graph(0), GRAPHS["triangle"], larger, graph(1)]
    for encoder in (RandomPEARL(3, 4, num_layers=2), BasisPEARL(3, num_layers=2)):
        encoder = encoder.double().eval()
        together = encoder(Batch.from_data_list(graphs)).split([g.num_nodes for g in graphs])
        for data, got in zip(graphs, together, strict=True):
            assert largest_error(got, encoder(Batch.from_data_list([data]))) < 1e-9


def test_nodes_that_no_symmetry_exchanges_differ() -> None:
    """In a regular graph of two components, message passing alone sees no difference."""
    data = from_networkx(networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(4)))
    encoder = BasisPEARL(3).double().eval()
    got = encoder(data)
    assert largest_error(got[:3], got[:1].expand(3, -1)) < 1e-9
    assert largest_error(got[:1], got[3:4]) > 1e-3


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_finite_gradients_under_autocast(norm: str) -> None:
    for encoder in (
        RandomPEARL(3, 4, num_layers=2, norm=norm),
        BasisPEARL(3, num_layers=2, norm=norm),
    ):
        for graphs in ([GRAPHS["no nodes"]], list(GRAPHS.values())):
            encoder.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                output = encoder(Batch.from_data_list(graphs))
            output.float().square().sum().backward()
            assert bool(output.isfinite().all())
            assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters())


def test_published_size() -> None:
    """Linear(K -> 37) and its normalisation, 8 GIN layers of width 40 with three linear layers each."""
    gin = 0
    for layer in range(8):
        before, after = 37 if layer == 0 else 40, 37 if layer == 7 else 40
        gin += 1 + (before * 40 + 40) + (40 * 40 + 40) + (40 * after + after) + 2 * 80
    expected = (7 * 37 + 37) + 2 * 37 + gin + (37 * 128 + 128)
    encoder = BasisPEARL(128, 7, num_layers=8, norm="batch")
    assert count_parameters(encoder) == expected
    assert encoder.mixes_graphs_in_training
    assert not BasisPEARL(3).mixes_graphs_in_training


@pytest.mark.parametrize("kind", [RandomPEARL, BasisPEARL])
def test_settings(kind: type) -> None:
    with pytest.raises(ValueError, match="num_powers is 0"):
        kind(3, num_powers=0)
    with pytest.raises(ValueError, match="operator is 'rw'"):
        kind(3, operator="rw")
    with pytest.raises(ValueError, match="norm is 'group'"):
        kind(3, norm="group")
    with pytest.raises(ValueError, match="num_samples is 0"):
        RandomPEARL(3, 0)
