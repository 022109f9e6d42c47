"""Stable and expressive positional encodings."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_batches import batch_of, graphs, largest_error, spectrum
from torch_geometric.data import Batch, Data

from graphpe.nn import SPE
from graphpe.nn.encoders.spectral.spe import weighted_products
from graphpe.nn.layout import graph_layout, node_pairs

TOLERANCE = 1e-9


def small_spe(k: int = 6, **settings: object) -> SPE:
    settings = {"hidden_channels": 8, "num_layers": 2, "num_filters": 3, **settings}
    return SPE(k, 5, **settings).double()


VARIANTS = [
    {"phi": phi, "rho": rho, "norm": norm}
    for phi in ("mlp", "deepsets")
    for rho in ("gin", "mlp")
    for norm in ("layer", "batch", "none")
] + [
    {"phi": "transformer", "rho": "mlp", "norm": "batch"},
    {"phi": "transformer", "rho": "gin_deepsets", "norm": "layer"},
    {"phi": "constant", "rho": "gin_deepsets", "norm": "batch", "num_filters": 1},
    {"phi": "mlp", "rho": "gin", "norm": "layer", "lipschitz": 2.0},
]


@pytest.mark.parametrize(
    ("phi", "rho"),
    [("mlp", "gin"), ("deepsets", "gin"), ("transformer", "gin_deepsets"), ("constant", "mlp")],
)
@pytest.mark.parametrize("k", [3, 6, 40])
def test_equals_the_formula_graph_by_graph(phi: str, rho: str, k: int) -> None:
    encoder = small_spe(k, phi=phi, rho=rho, num_filters=1 if phi == "constant" else 3)
    every = graphs(k)
    got = encoder(Batch.from_data_list(list(every.values())))
    for graph, rows in zip(
        every.values(), got.split([g.num_nodes for g in every.values()]), strict=True
    ):
        n, count = graph.num_nodes, int(graph.laplacian_eigenvector_count)
        values = graph.laplacian_eigenvalue[0, :count]
        vectors = graph.laplacian_eigenvector_pe[:, :count]
        if phi == "constant":
            weights = torch.ones(count, 1, dtype=torch.float64)
        else:
            weights = encoder.phi(values, torch.zeros(count, dtype=torch.long), 1)
        products = torch.einsum("ik,km,jk->ijm", vectors, weights, vectors)
        pairs = node_pairs(graph_layout(graph))
        encoded = encoder.rho(products.flatten(0, 1), pairs, graph.edge_index)
        expected = encoder.linear(encoded.view(n, n, k).sum(1))
        assert largest_error(rows, expected) < TOLERANCE


@pytest.mark.parametrize("rho", ["gin", "mlp", "gin_deepsets"])
def test_pairs_and_edges_by_the_formula(rho: str) -> None:
    """The linear layer is the same: nodes are the sum of their pairs, edges are pairs, in the order of the edges."""
    pair = small_spe(rho=rho, level="pair").eval()
    node, edge = (small_spe(rho=rho, level=level).eval() for level in ("node", "edge"))
    for encoder in (node, edge):
        encoder.load_state_dict(pair.state_dict())
    every = list(graphs().values())
    for graph in every:
        graph.edge_index = graph.edge_index[:, torch.randperm(graph.num_edges)]
    batch = Batch.from_data_list(every)
    by_graph = pair(batch).split([graph.num_nodes**2 for graph in every])
    edges = edge(batch).split([graph.num_edges for graph in every])
    nodes = node(batch).split([graph.num_nodes for graph in every])
    for graph, of_pairs, of_edges, of_nodes in zip(every, by_graph, edges, nodes, strict=True):
        n = graph.num_nodes
        matrix = of_pairs.view(n, n, 5)
        assert largest_error(of_edges, matrix[graph.edge_index[0], graph.edge_index[1]]) < TOLERANCE
        bias = pair.linear.bias
        assert largest_error(of_nodes, (matrix - bias).sum(1) + bias) < TOLERANCE


def rotate(graph: Data, seed: int) -> Data:
    """Random orthogonal matrices inside the eigenspaces."""
    generator = torch.Generator().manual_seed(seed)
    graph = graph.clone()
    values = graph.laplacian_eigenvalue[0]
    vectors = graph.laplacian_eigenvector_pe.clone()
    count = int(graph.laplacian_eigenvector_count)
    start = 0
    for end in range(1, count + 1):
        if end == count or values[end] - values[end - 1] > 1e-8:
            size = end - start
            matrix = torch.randn(size, size, dtype=torch.float64, generator=generator)
            vectors[:, start:end] = vectors[:, start:end] @ torch.linalg.qr(matrix).Q
            start = end
    graph.laplacian_eigenvector_pe = vectors
    return graph


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_rotations_inside_eigenspaces_change_nothing(variant: dict) -> None:
    """Also in repeated eigenspaces: cycle, star, complete graph, equal components."""
    encoder = small_spe(40, **variant)
    every = list(graphs(40).values())
    rotated = [rotate(graph, seed) for seed, graph in enumerate(every)]
    before, after = Batch.from_data_list(every), Batch.from_data_list(rotated)
    moved = (before.laplacian_eigenvector_pe - after.laplacian_eigenvector_pe).abs().max()
    assert moved > 0.1
    for training in (True, False):
        encoder.train(training)
        assert largest_error(encoder(after), encoder(before)) < 1e-8


@pytest.mark.parametrize(("k", "is_cut"), [(1, False), (2, True), (3, False), (8, False)])
def test_a_cut_eigenspace_is_not_invariant(k: int, is_cut: bool) -> None:
    """A cycle of 8 has the eigenvalues 0, a, a, b, b, ...; k >= n cuts none of them."""
    cycle = graphs(8)["cycle (double eigenvalues)"]
    torch.manual_seed(0)
    encoder = small_spe(k).eval()

    def first(graph: Data) -> Data:
        graph = graph.clone()
        graph.laplacian_eigenvector_pe = graph.laplacian_eigenvector_pe[:, :k]
        graph.laplacian_eigenvalue = graph.laplacian_eigenvalue[:, :k]
        graph.laplacian_eigenvector_count = torch.tensor([[k]])
        return graph

    change = largest_error(encoder(first(rotate(cycle, 0))), encoder(first(cycle)))
    assert change > 1e-5 if is_cut else change < 1e-12


@settings(max_examples=25)
@given(random_graphs(max_nodes=14, weighted=False), st.integers(0, 2**31))
def test_random_graphs(graph: Data, seed: int) -> None:
    """Rotations change nothing, a permutation of the nodes permutes the output, loops and parallel edges included."""
    torch.manual_seed(seed)
    graph = spectrum(graph, 9)
    encoder = small_spe(9).eval()
    expected = encoder(graph)
    assert largest_error(encoder(rotate(graph, seed)), expected) < 1e-8

    new = torch.randperm(graph.num_nodes)
    permuted = graph.clone()
    permuted.edge_index = new[graph.edge_index]
    permuted.laplacian_eigenvector_pe = torch.empty_like(graph.laplacian_eigenvector_pe)
    permuted.laplacian_eigenvector_pe[new] = graph.laplacian_eigenvector_pe
    assert largest_error(encoder(permuted)[new], expected) < TOLERANCE


@pytest.mark.parametrize("norm", ["layer", "none"])
@pytest.mark.parametrize("phi", ["mlp", "deepsets", "transformer"])
def test_training_does_not_see_the_rest_of_the_batch(norm: str, phi: str) -> None:
    """Padded columns entered the normalisation of the original, so that the largest graph in a batch mattered."""
    encoder = small_spe(norm=norm, phi=phi).train()
    every = list(graphs().values())
    together = encoder(Batch.from_data_list(every)).split([g.num_nodes for g in every])
    for graph, rows in zip(every, together, strict=True):
        assert largest_error(encoder(graph), rows) < TOLERANCE


def test_batch_normalization_of_eigenvalues_does_not_see_padding() -> None:
    """Two more columns of padding leave the statistics over eigenvalues, and so the weights, as they are."""
    encoder = small_spe(6, norm="batch").train()
    batch = batch_of()
    values, count = batch.laplacian_eigenvalue, batch.laplacian_eigenvector_count
    expected = encoder._weigh(torch.arange(6) < count, values)
    got = encoder._weigh(torch.arange(8) < count, torch.nn.functional.pad(values, (0, 2)))
    assert largest_error(got[:, :6], expected) < TOLERANCE
    assert not got[:, 6:].any()


@pytest.mark.parametrize("phi", ["mlp", "deepsets", "transformer", "constant"])
def test_numbers_in_padding_are_not_read(phi: str) -> None:
    encoder = small_spe(8, phi=phi, num_filters=None).eval()
    batch = Batch.from_data_list([spectrum(graph, 8) for graph in graphs().values()])
    expected = encoder(batch)
    padding = torch.arange(8) >= batch.laplacian_eigenvector_count
    batch.laplacian_eigenvalue[padding] = 7.0
    batch.laplacian_eigenvector_pe[padding[batch.batch]] = 7.0
    assert largest_error(encoder(batch), expected) < TOLERANCE


@settings(max_examples=40)
@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 9))
def test_products_of_graphs_of_all_sizes(sizes: list[int], k: int) -> None:
    """One large graph beside many small ones, sizes around powers of two, graphs without nodes."""
    counts = torch.tensor(sizes, dtype=torch.long)
    data = Data(
        num_nodes=sum(sizes),
        batch=torch.repeat_interleave(torch.arange(len(sizes)), counts),
        ptr=torch.tensor([0, *counts.cumsum(0).tolist()]),
    )
    layout = graph_layout(data)
    pairs = node_pairs(layout)
    vectors = torch.randn(sum(sizes), k, dtype=torch.float64)
    vectors *= torch.arange(k) < layout.sizes[layout.batch, None]
    weights = torch.randn(len(sizes), k, 3, dtype=torch.float64)
    got = weighted_products(vectors, weights, layout, pairs)
    graph = layout.batch[pairs.source]
    expected = torch.einsum(
        "pk,pkm,pk->pm", vectors[pairs.source], weights[graph], vectors[pairs.target]
    )
    assert largest_error(got, expected) < 1e-12


@pytest.mark.parametrize("phi", ["mlp", "deepsets", "transformer"])
def test_close_eigenvalues_get_close_weights(phi: str) -> None:
    """Stability: a small change of the eigenvalues changes the encoding little, also across a crossing."""
    torch.manual_seed(0)
    encoder = small_spe(8, phi=phi).eval()
    graph = graphs(8)["cycle (double eigenvalues)"]
    expected = encoder(graph)
    errors = []
    for size in (1e-4, 1e-6):
        nudged = graph.clone()
        nudged.laplacian_eigenvalue = graph.laplacian_eigenvalue + size * torch.tensor(
            [[0, 1, -1, 1, -1, 1, -1, 1]]
        )
        errors.append(largest_error(encoder(nudged), expected))
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 50


def test_float32_is_close_to_float64() -> None:
    double = small_spe(20).eval()
    single = SPE(20, 5, hidden_channels=8, num_layers=2, num_filters=3).eval()
    single.load_state_dict(double.state_dict())
    batch = batch_of(k=20)
    assert largest_error(single(batch).double(), double(batch)) < 1e-4


def test_tells_apart_what_eigenvalues_tell_apart() -> None:
    """The filters use the eigenvalues: with other eigenvalues and the same vectors the output differs."""
    encoder = small_spe().eval()
    batch = batch_of("path")
    before = encoder(batch)
    batch.laplacian_eigenvalue = batch.laplacian_eigenvalue.flip(1)
    assert largest_error(encoder(batch), before) > 1e-3


def test_constant_weights_need_no_eigenvalues() -> None:
    encoder = SPE(6, 5, phi="constant", hidden_channels=8, num_layers=2)
    batch = batch_of()
    del batch.laplacian_eigenvalue
    assert encoder(batch).isfinite().all()
    assert [need.name for need in encoder.requires] == [
        "laplacian_eigenvector_pe",
        "laplacian_eigenvector_count",
    ]
    assert not any(name.startswith("phi") for name in encoder.state_dict())


def test_the_bound_holds_for_the_weights_of_an_encoder() -> None:
    """Large parameters and all, in a whole encoder with its default normalisation."""
    encoder = small_spe(2, phi_layers=4, lipschitz=0.5)
    with torch.no_grad():
        for parameter in encoder.phi.parameters():
            parameter.mul_(1e4)
    values = torch.linspace(0, 2, 400, dtype=torch.float64).view(200, 2)
    weights = encoder._weigh(torch.ones(200, 2, dtype=torch.bool), values)
    slopes = weights.view(400, 3).diff(dim=0) / values.flatten().diff()[:, None]
    assert slopes.abs().max() <= 0.5 * (1 + 1e-6)


@pytest.mark.parametrize("option", [{"level": "edge", "rho": "mlp"}, {"rho": "gin"}], ids=str)
def test_edges_that_join_graphs_or_nothing_are_refused(option: dict) -> None:
    encoder = small_spe(**option)
    batch = batch_of("path", "complete")
    first = int(batch.ptr[1])
    batch.edge_index = torch.tensor([[0, 0], [1, first]])
    message = f"edge 1 of 'edge_index' joins node 0 of graph 0 and node {first} of graph 1"
    with pytest.raises(ValueError, match=message):
        encoder(batch)
    batch.edge_index = torch.tensor([[0], [-1]])
    with pytest.raises(ValueError, match="'edge_index' has node -1"):
        encoder(batch)


def test_nodes_of_a_perceptron_need_no_edges() -> None:
    encoder = small_spe(rho="mlp")
    batch = batch_of("path")
    expected = encoder(batch)
    del batch.edge_index
    assert torch.equal(encoder(batch), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"phi": "gnn"}, "phi is 'gnn'; it must be 'mlp', 'deepsets', 'transformer' or 'constant'"),
        ({"rho": "ppgn"}, "rho is 'ppgn'; it must be 'gin', 'mlp' or 'gin_deepsets'"),
        ({"level": "graph"}, "level is 'graph'; it must be 'node', 'pair' or 'edge'"),
        ({"phi": "constant", "num_filters": 2}, "num_filters is 2, .* make it 1"),
        ({"phi": "deepsets", "lipschitz": 1.0}, "lipschitz is 1.0, but it bounds phi='mlp' only"),
        ({"lipschitz": 0.0}, "lipschitz is 0.0; it must be a finite number > 0"),
        ({"lipschitz": True}, "lipschitz is True"),
        ({"norm": "graph"}, "norm is 'graph'"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"num_filters": 0}, "num_filters is 0"),
        ({"phi_layers": -1}, "phi_layers is -1"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SPE(8, 16, **arguments)


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("k", [8, 100])
def test_deep_sets_under_autocast_to_float16(k: int, norm: str) -> None:
    """Their sums over eigenvalues overflowed: with 100 of them, weights are over a million."""
    torch.manual_seed(0)
    n = 100
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    graph = Data(edge_index=torch.cat([ring, ring.flip(0)], dim=1), num_nodes=n)
    graph = spectrum(graph, k)
    encoder = SPE(k, 4, 8, 2, phi="deepsets", phi_layers=4, norm=norm)  # batch norm in training
    expected = encoder(graph)
    with torch.autocast("cpu", torch.float16):
        got = encoder(graph)
    assert got.isfinite().all()
    assert (got - expected).norm() < 0.02 * expected.norm()


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("phi", ["mlp", "deepsets", "transformer", "constant"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype, phi: str, norm: str) -> None:
    torch.manual_seed(0)
    batch = batch_of("path", "complete", "one node", k=6)
    encoder = SPE(6, 4, 8, 2, phi=phi, norm=norm).eval()
    expected = encoder(batch)
    got = encoder.to(dtype)(batch)
    assert got.dtype == dtype
    assert (got.float() - expected).norm() < 0.1 * expected.norm()


@pytest.mark.parametrize("phi", ["mlp", "deepsets", "transformer"])
def test_weights_are_computed_in_float32(phi: str) -> None:
    torch.manual_seed(0)
    filters = SPE(6, 4, 8, 2, phi=phi).phi
    eigenvalues, graph = torch.linspace(0, 2, 6), torch.zeros(6, dtype=torch.long)
    expected = filters(eigenvalues, graph, 1)
    with torch.autocast("cpu", torch.bfloat16):
        got = filters(eigenvalues, graph, 1)
    assert got.dtype == torch.float32
    assert torch.equal(got, expected)
