"""Distances of eigenvector coordinates."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import PEG


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("k", [1, 6, 40])
def test_equals_the_formula_edge_by_edge(k: int, num_layers: int, norm: str) -> None:
    torch.manual_seed(0)
    encoder = PEG(k, 5, 8, num_layers, norm).double()
    every = list(graphs(k).values())
    got = encoder(Batch.from_data_list(every))
    expected = []
    for graph in every:
        count = int(graph.laplacian_eigenvector_count)
        rows = graph.laplacian_eigenvector_pe[:, :count].tolist()
        for i, j in graph.edge_index.t().tolist():
            distance = sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True)) ** 0.5
            x = torch.tensor([distance], dtype=torch.float64)
            for number, linear in enumerate(encoder.mlp.lins):
                x = linear.weight @ x + linear.bias
                if number < num_layers - 1:
                    if norm == "layer":
                        x = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
                    x = x.clamp(min=0)
            expected.append(x)
    assert largest_error(got, torch.stack(expected)) < 1e-12


def test_padding_is_never_read() -> None:
    batch = batch_of()
    encoder = PEG(6, 4)
    expected = encoder(batch)
    counts = batch.laplacian_eigenvector_count[batch.batch]
    batch.laplacian_eigenvector_pe[torch.arange(6) >= counts] = float("nan")
    assert torch.equal(encoder(batch), expected)


def test_any_orthogonal_matrix_leaves_distances() -> None:
    """More than signs and bases: it may mix eigenspaces."""
    every = graphs(6)
    encoder = PEG(6, 4).double()
    expected = encoder(Batch.from_data_list(list(every.values())))
    for graph in every.values():
        count = int(graph.laplacian_eigenvector_count)
        mixing, _ = torch.linalg.qr(torch.randn(count, count, dtype=torch.float64))
        graph.laplacian_eigenvector_pe[:, :count] @= mixing
    assert largest_error(encoder(Batch.from_data_list(list(every.values()))), expected) < 1e-12


def test_loops_and_equal_rows_are_at_distance_0() -> None:
    """A square root would have an infinite gradient there."""
    vectors = torch.tensor([[0.1, 0.2], [0.1, 0.2], [3e-30, 0.0], [0.0, 0.0]], requires_grad=True)
    edges = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 3), (0, 3)]
    graph = Data(
        num_nodes=4,
        edge_index=torch.tensor(edges).t(),
        laplacian_eigenvector_pe=vectors,
        laplacian_eigenvector_count=torch.tensor([[2]]),
    )
    encoder = PEG(2, 1, num_layers=1)
    with torch.no_grad():
        encoder.mlp.lins[0].weight.fill_(1)
        encoder.mlp.lins[0].bias.zero_()
    distance = encoder(graph).flatten()
    assert distance[[0, 1, 2, 4]].tolist() == [0, 0, 0, 0]
    distance.sum().backward()
    assert vectors.grad.isfinite().all()
    unit = torch.tensor([0.1, 0.2]) / 0.05**0.5
    assert largest_error(vectors.grad[0], unit) < 1e-6  # only of the edge (0, 3)
    assert vectors.grad[1].tolist() == [0, 0]


def test_both_directions_of_an_edge_have_the_same_gate() -> None:
    batch = batch_of("path", "parallel edges")
    encoder = PEG(6, 4)
    expected = encoder(batch)
    batch.edge_index = batch.edge_index.flip(0)
    assert torch.equal(encoder(batch), expected)


@pytest.mark.parametrize("name", ["no nodes", "one node", "no edges"])
def test_no_edges(name: str) -> None:
    for norm in ("layer", "batch", "none"):
        assert PEG(6, 4, norm=norm)(batch_of(name)).shape == (0, 4)


def test_bfloat16() -> None:
    batch = batch_of()
    encoder = PEG(6, 4)
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        got = encoder(batch)
    assert largest_error(got.float(), expected) < 0.05


def test_what_it_declares() -> None:
    encoder = PEG(6, 4, norm="batch")
    assert (encoder.level, encoder.role, encoder.out_channels) == ("edge", "gate", 4)
    assert encoder.mixes_graphs_in_training
    assert not PEG(6, 4).mixes_graphs_in_training
    assert PEG.covers("basis")
    for name in ("k", "out_channels", "hidden_channels", "num_layers"):
        with pytest.raises(ValueError, match=f"^{name} is 0; it must be an integer >= 1$"):
            PEG(**{"k": 6, "out_channels": 4, name: 0})
    with pytest.raises(ValueError, match=r"needs the field 'laplacian_eigenvector_pe'.*\(k=6\)"):
        PEG(6, 4)(Data(num_nodes=1, edge_index=torch.zeros(2, 0, dtype=torch.long)))
