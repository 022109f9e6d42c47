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
]


@pytest.mark.parametrize("phi", ["mlp", "deepsets"])
@pytest.mark.parametrize("k", [3, 6, 40])
def test_equals_the_formula_graph_by_graph(phi: str, k: int) -> None:
    encoder = small_spe(k, phi=phi)
    every = graphs(k)
    got = encoder(Batch.from_data_list(list(every.values())))
    for graph, rows in zip(
        every.values(), got.split([g.num_nodes for g in every.values()]), strict=True
    ):
        n, count = graph.num_nodes, int(graph.laplacian_eigenvector_count)
        values = graph.laplacian_eigenvalue[0, :count]
        vectors = graph.laplacian_eigenvector_pe[:, :count]
        weights = encoder.phi(values, torch.zeros(count, dtype=torch.long), 1)
        products = torch.einsum("ik,km,jk->ijm", vectors, weights, vectors)
        pairs = node_pairs(graph_layout(graph))
        encoded = encoder.rho(products.flatten(0, 1), pairs, graph.edge_index)
        expected = encoder.linear(encoded.view(n, n, k).sum(1))
        assert largest_error(rows, expected) < TOLERANCE


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
@pytest.mark.parametrize("phi", ["mlp", "deepsets"])
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
    expected = encoder._weigh(batch.laplacian_eigenvalue, batch.laplacian_eigenvector_count)
    padded = torch.nn.functional.pad(batch.laplacian_eigenvalue, (0, 2))
    got = encoder._weigh(padded, batch.laplacian_eigenvector_count)
    assert largest_error(got[:, :6], expected) < TOLERANCE
    assert not got[:, 6:].any()


def test_numbers_in_padding_are_not_read() -> None:
    encoder = small_spe(8).eval()
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


def test_close_eigenvalues_get_close_weights() -> None:
    """Stability: a small change of the eigenvalues changes the encoding little, also across a crossing."""
    encoder = small_spe(8).eval()
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"phi": "transformer"}, "phi is 'transformer'"),
        ({"rho": "ppgn"}, "rho is 'ppgn'"),
        ({"norm": "graph"}, "norm is 'graph'"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"num_filters": 0}, "num_filters is 0"),
        ({"phi_layers": -1}, "phi_layers is -1"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SPE(8, 16, **arguments)
