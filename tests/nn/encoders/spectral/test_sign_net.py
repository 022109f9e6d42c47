"""SignNet."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_batches import batch_of, count_parameters, graphs, largest_error, spectrum
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import SignNet
from graphpe.nn.columns import node_columns
from graphpe.nn.layout import graph_layout

TOLERANCE = 1e-9
POOLINGS = ("concatenate", "sum", "deepsets", "transformer")


def small_sign_net(k: int = 6, **settings: object) -> SignNet:
    settings = {
        "hidden_channels": 8,
        "num_layers": 2,
        "phi_channels": 5,
        "set_layers": 2,
    } | settings
    return SignNet(k, 7, **settings).double()


def gin(encoder: SignNet, x: Tensor, edge_index: Tensor) -> Tensor:
    for epsilon, mlp in zip(encoder.phi.epsilon, encoder.phi.mlps, strict=True):
        sums = torch.zeros_like(x)
        for source, target in edge_index.t().tolist():
            sums[target] += x[source]
        x = mlp((1 + epsilon) * x + sums)
    return x


@pytest.mark.parametrize("eigenvalues", [False, True])
@pytest.mark.parametrize("rho", POOLINGS)
def test_equals_the_formula_graph_by_graph(rho: str, eigenvalues: bool) -> None:
    """Fewer and more nodes than k, graphs without edges or nodes, components; padding enters nothing."""
    encoder = small_sign_net(rho=rho, eigenvalues=eigenvalues)
    every = list(graphs().values())
    got = encoder(Batch.from_data_list(every)).split([graph.num_nodes for graph in every])
    for graph, rows in zip(every, got, strict=True):
        columns = []
        for column in range(int(graph.laplacian_eigenvector_count)):
            vector = graph.laplacian_eigenvector_pe[:, column, None]
            value = graph.laplacian_eigenvalue[0, column].expand_as(vector)
            both = []
            for signed in (vector, -vector):
                x = torch.cat([signed, value], dim=1) if eigenvalues else signed
                both.append(gin(encoder, x, graph.edge_index))
            columns.append(both[0] + both[1])
        x = torch.stack(columns, dim=1).flatten(0, 1) if columns else torch.zeros(0, 5).double()
        ragged = node_columns(graph_layout(graph), torch.tensor([len(columns)]))
        assert largest_error(rows, encoder.linear(encoder.rho(x, ragged))) < TOLERANCE


def flip(graph: Data) -> Data:
    graph = graph.clone()
    signs = 1 - 2 * torch.randint(0, 2, (graph.laplacian_eigenvector_pe.size(1),))
    graph.laplacian_eigenvector_pe = graph.laplacian_eigenvector_pe * signs
    return graph


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("rho", POOLINGS)
def test_signs_change_nothing(rho: str, norm: str) -> None:
    """Own signs per graph, also in training: batch normalisation sees each vector with both signs at once."""
    encoder = small_sign_net(8, rho=rho, norm=norm)
    every = list(graphs(8).values())
    before = Batch.from_data_list(every)
    after = Batch.from_data_list([flip(graph) for graph in every])
    assert (before.laplacian_eigenvector_pe - after.laplacian_eigenvector_pe).abs().max() > 0.1
    for training in (True, False):
        encoder.train(training)
        assert largest_error(encoder(after), encoder(before)) < TOLERANCE


def test_rotations_of_an_eigenspace_change_the_output() -> None:
    """So it must not be declared. A cycle of 8: columns 1 and 2 have the same eigenvalue."""
    encoder = small_sign_net().eval()
    graph = graphs()["cycle (double eigenvalues)"]
    expected = encoder(graph)
    half = 0.5**0.5
    rotation = torch.tensor([[half, -half], [half, half]], dtype=torch.float64)
    graph.laplacian_eigenvector_pe[:, 1:3] @= rotation
    assert largest_error(encoder(graph), expected) > 1e-4
    assert not SignNet.covers("basis")
    assert SignNet.covers("sign")


@settings(max_examples=20)
@given(random_graphs(max_nodes=12, weighted=False), st.sampled_from(POOLINGS), st.integers(0, 99))
def test_random_graphs(graph: Data, rho: str, seed: int) -> None:
    """Signs change nothing, and a permutation of the nodes permutes the output."""
    torch.manual_seed(seed)
    graph = spectrum(graph, 8)
    encoder = small_sign_net(8, rho=rho).eval()
    expected = encoder(graph)
    assert largest_error(encoder(flip(graph)), expected) < TOLERANCE
    new = torch.randperm(graph.num_nodes)
    permuted = graph.clone()
    permuted.edge_index = new[graph.edge_index]
    permuted.laplacian_eigenvector_pe = torch.empty_like(graph.laplacian_eigenvector_pe)
    permuted.laplacian_eigenvector_pe[new] = graph.laplacian_eigenvector_pe
    assert largest_error(encoder(permuted)[new], expected) < TOLERANCE


@pytest.mark.parametrize("rho", POOLINGS)
def test_every_parameter_counts(rho: str) -> None:
    encoder = small_sign_net(rho=rho).eval()
    batch = batch_of()
    expected = encoder(batch)
    expected.square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert bool((parameter.grad.abs() > 0).any()), name
        with torch.no_grad():
            before = parameter.clone()
            parameter += 0.1 * torch.randn_like(parameter)
            assert largest_error(encoder(batch), expected) > 1e-7, name
            parameter.copy_(before)


def test_published_sizes() -> None:
    """The networks of SPE's ZINC experiments have 631,585 and 663,170 parameters.

    211,085 are those of the GINE. 1,680 belong to seven normalisations between the layers of φ, which we don't have.
    """
    common = {"hidden_channels": 120, "num_layers": 8, "rho_layers": 8, "norm": "batch"}
    eight = SignNet(8, 120, phi_channels=4, rho="concatenate", eigenvalues=False, **common)
    every = SignNet(37, 120, phi_channels=120, rho="sum", eigenvalues=False, **common)
    between_layers = 7 * 2 * 120
    assert count_parameters(eight) + 211_085 + between_layers == 631_585
    assert count_parameters(every) + 211_085 + between_layers == 663_170


def test_without_eigenvalues_none_are_needed() -> None:
    encoder = small_sign_net(eigenvalues=False).eval()
    batch = batch_of()
    expected = encoder(batch)
    del batch.laplacian_eigenvalue
    assert torch.equal(encoder(batch), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rho": "mean"}, "rho is 'mean'"),
        ({"norm": "graph"}, "norm is 'graph'"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"phi_channels": 0}, "phi_channels is 0"),
        ({"rho_layers": 0}, "rho_layers is 0"),
        ({"set_layers": 0}, "set_layers is 0"),
        ({"eigenvalues": 1}, "eigenvalues is 1"),
        (
            {"rho": "transformer", "heads": 5},
            "heads is 5, which does not divide hidden_channels=64",
        ),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SignNet(8, 16, **arguments)
