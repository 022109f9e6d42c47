"""The linear map of eigenvectors and its signs."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, graphs, largest_error, spectrum
from torch_geometric.data import Batch, Data

from graphpe.nn import EigenvectorEncoder


def identity_encoder(k: int, **options) -> EigenvectorEncoder:
    encoder = EigenvectorEncoder(k, k, **options)
    with torch.no_grad():
        encoder.linear.weight.copy_(torch.eye(k))
        encoder.linear.bias.zero_()
    return encoder


def ones(num_graphs: int, k: int) -> Batch:
    """Graphs of two nodes whose eigenvectors are all ones, so that the output is the signs."""
    graph = Data(
        num_nodes=2,
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        laplacian_eigenvector_pe=torch.ones(2, k),
    )
    return Batch.from_data_list([graph] * num_graphs)


def test_evaluation_uses_the_stored_signs() -> None:
    """B10: signs are flipped in training, and never in evaluation."""
    batch = batch_of()
    encoder = EigenvectorEncoder(6, 4).eval()
    expected = encoder.linear(batch.laplacian_eigenvector_pe.float())
    for _ in range(3):
        assert torch.equal(encoder(batch), expected)


def test_training_draws_a_sign_for_each_graph_and_column() -> None:
    """B10; the original draws one sign vector for the whole batch."""
    signs = identity_encoder(4)(ones(500, 4)).view(500, 2, 4)
    assert torch.equal(signs[:, 0], signs[:, 1])  # the nodes of a graph share them
    signs = signs[:, 0]
    assert torch.equal(signs.abs(), torch.ones(500, 4))
    assert (signs.mean(0).abs() < 0.2).all()
    correlation = signs.t() @ signs / 500 - torch.eye(4)
    assert (correlation.abs() < 0.2).all()
    assert len(signs.unique(dim=0)) == 16


def test_training_draws_anew_and_reproducibly() -> None:
    encoder, batch = identity_encoder(4), ones(50, 4)
    torch.manual_seed(1)
    first, second = encoder(batch), encoder(batch)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(encoder(batch), first)


def test_only_the_flips_are_random() -> None:
    batch = batch_of()
    for signs in ("absolute", "canonical", "as_given"):
        encoder = EigenvectorEncoder(6, 4, signs=signs)
        assert not encoder.mixes_graphs_in_training
        assert encoder.augments == frozenset()
        assert torch.equal(encoder.train()(batch), encoder.eval()(batch))
    assert EigenvectorEncoder(6, 4).mixes_graphs_in_training
    assert EigenvectorEncoder(6, 4).augments == {"sign"}


def test_as_given_and_absolute() -> None:
    batch = batch_of()
    vectors = batch.laplacian_eigenvector_pe.float()
    for signs, expected in (("as_given", vectors), ("absolute", vectors.abs())):
        encoder = EigenvectorEncoder(6, 4, signs=signs)
        assert torch.equal(encoder(batch), encoder.linear(expected))


def test_only_absolute_values_are_invariant_to_signs() -> None:
    """Spec 2.3: the four variants of the published eigenvector encoding."""
    assert not EigenvectorEncoder.covers("sign")
    for signs in ("flip", "canonical", "as_given"):
        assert not EigenvectorEncoder(6, 4, signs=signs).covers("sign")
    assert EigenvectorEncoder(6, 4, signs="absolute").covers("sign")
    assert not EigenvectorEncoder(6, 4, signs="absolute").covers("basis")
    with pytest.raises(
        ValueError,
        match="signs is 'abs'; it must be 'flip', 'absolute', 'canonical' or 'as_given'",
    ):
        EigenvectorEncoder(6, 4, signs="abs")


def sign_by_sorting(column: list[float]) -> int:
    """The rule of canonical signs for one column, or 0 where it isn't determined."""
    largest = max(map(abs, column), default=0.0)
    down, up = sorted(column, reverse=True), sorted(-x for x in column)[::-1]
    for own, negative in zip(down, up, strict=True):
        if abs(own - negative) > 1e-5 * largest:
            return 1 if own > negative else -1
    return 0


def test_canonical_signs_column_by_column() -> None:
    """In one batch: columns without ties, with ties of the largest, symmetric ones, zeros and graphs without nodes."""
    torch.manual_seed(0)
    every = []
    for n in (0, 1, 2, 7, 0, 30, 3):
        columns = [
            torch.randn(n),
            torch.randint(-1, 2, (n,)).double(),  # nearly always tied
            torch.randint(-2, 3, (n,)).double(),
            torch.arange(n) - (n - 1) / 2,  # v and -v have the same entries
            torch.zeros(n),
            torch.randn(n).sign() * (1 + 1e-8 * torch.randn(n).double()),  # tied but for rounding
        ]
        vectors = torch.stack([column.double() for column in columns], dim=1)
        edges = torch.zeros(2, 0, dtype=torch.long)
        every.append(Data(num_nodes=n, edge_index=edges, laplacian_eigenvector_pe=vectors))
    encoder = identity_encoder(6, signs="canonical").double()
    expected = [
        graph.laplacian_eigenvector_pe
        * torch.tensor(
            [sign_by_sorting(c) or 1 for c in graph.laplacian_eigenvector_pe.t().tolist()]
        )
        for graph in every
    ]
    assert torch.equal(encoder(Batch.from_data_list(every)), torch.cat(expected))


def test_canonical_signs_do_not_depend_on_the_numbering() -> None:
    """The solver's signs of two numberings of a graph differ; where they are determined, the encodings don't."""
    torch.manual_seed(0)
    random = torch.rand(9, 9).triu(1) > 0.6
    asymmetric = Data(edge_index=(random | random.t()).nonzero().t(), num_nodes=9)
    path = graphs()["path"]
    encoder = identity_encoder(6, signs="canonical").double()
    for graph, may_differ in ((asymmetric, False), (path, True)):
        graph = spectrum(graph, 6)
        assert (graph.laplacian_eigenvalue.diff() > 1e-6).all()
        expected = encoder(graph)
        differ = torch.zeros(6, dtype=torch.bool)
        for _ in range(20):
            new = torch.randperm(graph.num_nodes)
            moved = Data(edge_index=new[graph.edge_index], num_nodes=graph.num_nodes)
            moved = spectrum(moved, 6)
            flipped = moved.clone()
            flipped.laplacian_eigenvector_pe = -moved.laplacian_eigenvector_pe
            got = encoder(moved)[new]
            differ |= (got - expected).abs().amax(0) > 1e-6
            differ |= (encoder(flipped)[new] - expected).abs().amax(0) > 1e-6
        columns = graph.laplacian_eigenvector_pe.t().tolist()
        determined = torch.tensor([sign_by_sorting(column) != 0 for column in columns])
        assert torch.equal(differ, ~determined)
        assert bool((~determined).any()) == may_differ


def test_gradients_and_bfloat16() -> None:
    for signs in ("flip", "absolute", "canonical", "as_given"):
        batch = batch_of()
        batch.laplacian_eigenvector_pe.requires_grad_()
        encoder = EigenvectorEncoder(6, 4, signs=signs).eval()
        encoder(batch).square().sum().backward()
        assert batch.laplacian_eigenvector_pe.grad.isfinite().all()
        with torch.autocast("cpu", torch.bfloat16):
            got = encoder(batch)
        assert largest_error(got.float(), encoder(batch)) < 0.02
        encoder.train()(batch_of("no nodes")).sum().backward()
