"""The linear map of eigenvectors and its signs."""

from __future__ import annotations

import torch
from nn_batches import batch_of
from torch_geometric.data import Batch, Data

from graphpe.nn import EigenvectorEncoder


def identity_encoder(k: int) -> EigenvectorEncoder:
    encoder = EigenvectorEncoder(k, k)
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
