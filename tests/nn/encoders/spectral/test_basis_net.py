"""BasisNet and its eigenspaces."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_batches import featured, graphs, largest_error, spectrum
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import BasisNet
from graphpe.nn.columns import node_columns
from graphpe.nn.encoders.spectral.basis_net import contract_projectors
from graphpe.nn.encoders.spectral.eigenspaces import find_eigenspaces
from graphpe.nn.layout import graph_layout
from graphpe.transforms import AddLaplacianEigenvectorPE

TOLERANCE = 1e-9
POOLINGS = ("concatenate", "sum", "deepsets", "transformer")


def small_basis_net(k: int = 6, **settings: object) -> BasisNet:
    settings = {
        "hidden_channels": 8,
        "phi_channels": 5,
        "max_multiplicity": 3,
        "set_layers": 2,
    } | settings
    return BasisNet(k, 7, **settings).double()


def symmetric_graphs(k: int = 40) -> list[Data]:
    """The small graphs, and ones with multiplicities up to 11."""
    more = [
        networkx.star_graph(10),  # 1 has multiplicity 9
        networkx.complete_graph(12),  # 11
        networkx.hypercube_graph(4),  # 1, 4, 6, 4, 1
        networkx.petersen_graph(),  # 1, 5, 4
        networkx.balanced_tree(3, 2),
    ]
    return [
        *graphs(k).values(),
        *(spectrum(featured(from_networkx(graph)), k) for graph in more),
    ]


def eigenspaces_of(graph: Data) -> list[list[int]]:
    """The columns of each eigenspace, by a loop."""
    spaces: list[list[int]] = []
    for column, value in enumerate(graph.laplacian_eigenvalue[0].tolist()):
        if column >= int(graph.laplacian_eigenvector_count):
            break
        if spaces and value - graph.laplacian_eigenvalue[0, column - 1].item() < 1e-8:
            spaces[-1].append(column)
        else:
            spaces.append([column])
    return spaces


def rotate(graph: Data, seed: int = 0) -> Data:
    """Random orthogonal matrices inside the eigenspaces."""
    generator = torch.Generator().manual_seed(seed)
    graph = graph.clone()
    for columns in eigenspaces_of(graph):
        matrix = torch.randn(len(columns), len(columns), dtype=torch.float64, generator=generator)
        graph.laplacian_eigenvector_pe[:, columns] @= torch.linalg.qr(matrix).Q
    return graph


def contract(matrix: Tensor) -> Tensor:
    """All five maps of the basis, less the columns, which are the rows again: ``[n, 4]``."""
    n = len(matrix)
    assert largest_error(matrix.sum(0), matrix.sum(1)) < 1e-12
    numbers = [
        matrix.diagonal(),
        matrix.sum(1) / n,
        (matrix.trace() / n).expand(n),
        (matrix.sum() / n**2).expand(n),
    ]
    return torch.stack(numbers, dim=1)


def phi(encoder: BasisNet, matrix: Tensor, eigenvalue: float | None, dimension: int) -> Tensor:
    network = encoder.phi[min(dimension, len(encoder.phi)) - 1]
    x = contract(matrix)
    if eigenvalue is not None:
        x = torch.cat([x, torch.full((len(x), 1), eigenvalue, dtype=torch.float64)], dim=1)
    x = network.linear(x)
    for norm, layer in zip(network.norms, network.layers, strict=True):
        x = norm(x).relu()
        x = layer.own(x) + x.mean(0) @ layer.mean.weight.t()
    return x


@pytest.mark.parametrize("eigenvalues", [False, True])
@pytest.mark.parametrize("rho", POOLINGS)
def test_equals_the_formula_with_explicit_projectors(rho: str, eigenvalues: bool) -> None:
    encoder = small_basis_net(rho=rho, eigenvalues=eigenvalues)
    every = symmetric_graphs(6)
    got = encoder(Batch.from_data_list(every)).split([graph.num_nodes for graph in every])
    for graph, rows in zip(every, got, strict=True):
        encoded = []
        for columns in eigenspaces_of(graph):
            vectors = graph.laplacian_eigenvector_pe[:, columns]
            value = graph.laplacian_eigenvalue[0, columns].mean().item() if eigenvalues else None
            matrix = graph.num_nodes * vectors @ vectors.t()
            if graph.num_nodes:
                encoded.append(phi(encoder, matrix, value, len(columns)))
        x = torch.stack(encoded, dim=1).flatten(0, 1) if encoded else torch.zeros(0, 5).double()
        columns = node_columns(graph_layout(graph), torch.tensor([len(encoded)]))
        assert largest_error(rows, encoder.linear(encoder.rho(x, columns))) < TOLERANCE


@settings(max_examples=25)
@given(random_graphs(max_nodes=14, weighted=False), st.integers(1, 14))
def test_contractions_of_random_graphs(graph: Data, k: int) -> None:
    graph = spectrum(graph, k)
    layout = graph_layout(graph)
    count = graph.laplacian_eigenvector_count[:, 0]
    spaces = find_eigenspaces(graph.laplacian_eigenvalue, count)
    columns = node_columns(layout, spaces.counts)
    got = contract_projectors(graph.laplacian_eigenvector_pe, count, spaces, layout, columns)
    expected = []
    for number in range(len(spaces)):
        vectors = graph.laplacian_eigenvector_pe[:, spaces.of_column[0] == number]
        assert vectors.size(1) == spaces.dimension[number]
        expected.append(contract(graph.num_nodes * vectors @ vectors.t()))
    expected = torch.stack(expected, dim=1).flatten(0, 1) if expected else got
    assert largest_error(got, expected) < 1e-11


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("rho", POOLINGS)
def test_rotations_inside_eigenspaces_change_nothing(rho: str, norm: str) -> None:
    """Multiplicities up to 11, of which networks know three; in training and evaluation."""
    encoder = small_basis_net(40, rho=rho, norm=norm)
    every = symmetric_graphs()
    assert max(len(columns) for graph in every for columns in eigenspaces_of(graph)) == 11
    before = Batch.from_data_list(every)
    after = Batch.from_data_list([rotate(graph, seed) for seed, graph in enumerate(every)])
    moved = (before.laplacian_eigenvector_pe - after.laplacian_eigenvector_pe).abs().max()
    assert moved > 0.1
    for training in (True, False):
        encoder.train(training)
        assert largest_error(encoder(after), encoder(before)) < 1e-8


def permute(graph: Data, new: Tensor) -> Data:
    permuted = graph.clone()
    permuted.edge_index = new[graph.edge_index]
    permuted.laplacian_eigenvector_pe = torch.empty_like(graph.laplacian_eigenvector_pe)
    permuted.laplacian_eigenvector_pe[new] = graph.laplacian_eigenvector_pe
    return permuted


@pytest.mark.parametrize("rho", POOLINGS)
def test_nodes_do_not_mix_with_channels(rho: str) -> None:
    """The published code is wrong by 0.056 of 0.067 on a graph with a double eigenvalue (spec 1.10, 7)."""
    encoder = small_basis_net(8, rho=rho).eval()
    wheel = spectrum(from_networkx(networkx.lollipop_graph(4, 3)), 8)
    assert [len(columns) for columns in eigenspaces_of(wheel)].count(2) == 1
    expected = encoder(wheel)
    assert expected.std(0).max() > 1e-3
    for _ in range(5):
        new = torch.randperm(wheel.num_nodes)
        assert largest_error(encoder(permute(wheel, new))[new], expected) < 1e-12


@settings(max_examples=20)
@given(random_graphs(max_nodes=12, weighted=False), st.sampled_from(POOLINGS), st.integers(0, 99))
def test_random_graphs(graph: Data, rho: str, seed: int) -> None:
    torch.manual_seed(seed)
    graph = spectrum(graph, 12)
    encoder = small_basis_net(12, rho=rho).eval()
    expected = encoder(graph)
    assert largest_error(encoder(rotate(graph, seed)), expected) < 1e-8
    new = torch.randperm(graph.num_nodes)
    assert largest_error(encoder(permute(graph, new))[new], expected) < TOLERANCE


@pytest.mark.parametrize("rho", POOLINGS)
def test_every_parameter_counts(rho: str) -> None:
    """On a GPU, the published weights of the IGN are neither trained nor saved (spec 1.10, 6)."""
    encoder = small_basis_net(40, rho=rho).eval()
    batch = Batch.from_data_list(symmetric_graphs())
    expected = encoder(batch)
    expected.square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert bool((parameter.grad.abs() > 0).any()), name
        with torch.no_grad():
            before = parameter.clone()
            parameter += 0.1 * torch.randn_like(parameter)
            assert largest_error(encoder(batch), expected) > 1e-8, name
            parameter.copy_(before)
    assert set(encoder.state_dict()) == {name for name, _ in encoder.named_parameters()}
    assert sum(name.startswith("phi") for name in encoder.state_dict()) == 3 * 12


def test_output_at_the_start_tells_nodes_apart() -> None:
    """That of the published IGN is constant over the nodes: deviation 7e-8 of 0.07 (spec 1.10, 6)."""
    encoder = BasisNet(8, 64).eval()
    tree = spectrum(from_networkx(networkx.balanced_tree(2, 4)), 8)
    output = encoder(tree)
    assert output.std(0).mean() > 0.01 * output.abs().mean()


def test_the_transform_can_leave_a_cut_eigenspace_out() -> None:
    """In float32 as it is stored, with k = 8 of a graph whose eigenspaces have 1, 4, 6, 4 and 1 dimensions."""
    graph = from_networkx(networkx.hypercube_graph(4))
    encoder = BasisNet(8, 7).eval()
    errors = {}
    for complete in (True, False):
        transform = AddLaplacianEigenvectorPE(8, drop_trivial="none", complete_eigenspaces=complete)
        expected = encoder(transform(graph.clone()))
        new = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
        renumbered = Data(edge_index=new[graph.edge_index], num_nodes=graph.num_nodes)
        errors[complete] = largest_error(encoder(transform(renumbered))[new], expected)
    assert errors[True] < 1e-4 < 1e-3 < errors[False]


def test_eigenspaces_of_stored_eigenvalues() -> None:
    values = torch.tensor(
        [
            [0.0, 0.5, 0.5 + 6e-8, 0.5 + 4e-6, 0.50002, 2.0],  # equality is passed on
            [-3e-8, 2e-8, 3e-7, 1e-6, 2e-6, 2.0],  # zeros are relative to the largest
            [
                100.003,
                100.0005,
                100.0,
                7.0,
                7.0,
                7.0,
            ],  # relative to the eigenvalue; descending; padding
            [7.0] * 6,  # no eigenvalue at all
        ]
    )
    spaces = find_eigenspaces(values, torch.tensor([6, 6, 3, 0]))
    assert spaces.of_column.tolist() == [
        [0, 1, 1, 1, 2, 3],
        [4, 4, 5, 6, 7, 8],
        [9, 10, 10, 11, 11, 11],
        [11] * 6,
    ]
    assert spaces.dimension.tolist() == [1, 3, 1, 1, 2, 1, 1, 1, 1, 1, 2]
    assert spaces.counts.tolist() == [4, 5, 2, 0]
    assert spaces.start.tolist() == [0, 4, 9, 11]
    assert len(spaces) == 11
    assert spaces.mean(values)[1].item() == pytest.approx(0.5 + 4.06e-6 / 3, abs=1e-7)


@pytest.mark.parametrize(
    ("values", "dimension"),
    [
        # the low end of a path of 12,000 nodes with D - A, from AddLaplacianEigenvectorPE
        (4 * torch.sin(torch.pi * torch.arange(8).double() / 24_000).square(), [1] * 8),
        # a path of six nodes whose edges weigh 1e-9
        (4e-9 * torch.sin(torch.pi * torch.arange(6).double() / 12).square(), [1] * 6),
        # two cycles of four nodes of that weight
        (1e-9 * torch.tensor([0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0]), [2, 4, 2]),
        (torch.zeros(5), [5]),  # no edges
    ],
)
def test_small_eigenvalues_are_different_relative_to_the_largest(
    values: Tensor, dimension: list[int]
) -> None:
    """With a tolerance of 1e-7 whatever the size, all of them were zero."""
    count = torch.tensor([len(values)])
    assert find_eigenspaces(values.float()[None], count).dimension.tolist() == dimension
    padded = torch.cat([values, torch.full((3,), 9.0)]).float()[None]  # padding is no largest one
    assert find_eigenspaces(padded, count).dimension.tolist() == dimension


def test_eigenspaces_of_a_network_in_half_precision() -> None:
    """In bfloat16 the eigenvalues 1.55 and 1.56 are one, but the stored ones decide."""
    path = spectrum(from_networkx(networkx.path_graph(40)), 40)
    encoder = BasisNet(40, 7).eval()
    expected = encoder(path)
    got = encoder.bfloat16()(path).float()
    assert (got - expected).norm() < 0.1 * expected.norm()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rho": "mean"}, "rho is 'mean'"),
        ({"norm": "graph"}, "norm is 'graph'"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"max_multiplicity": 0}, "max_multiplicity is 0"),
        ({"eigenvalues": None}, "eigenvalues is None"),
        ({"rho": "transformer", "heads": 3}, "heads is 3, which does not divide"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BasisNet(8, 16, **arguments)
