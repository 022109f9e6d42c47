"""What SignNet and BasisNet have in common: ragged columns of eigenvectors, pooled by ρ."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from nn_batches import batch_of, graphs, largest_error
from torch_geometric.data import Batch

from graphpe.nn import BasisNet, SignNet

TOLERANCE = 1e-9
BUILD = {
    "SignNet": partial(
        SignNet, out_channels=7, hidden_channels=8, num_layers=2, phi_channels=5, set_layers=2
    ),
    "BasisNet": partial(
        BasisNet,
        out_channels=7,
        hidden_channels=8,
        phi_channels=5,
        max_multiplicity=3,
        set_layers=2,
    ),
}

every_encoder = pytest.mark.parametrize("name", BUILD)
every_pooling = pytest.mark.parametrize("rho", ["concatenate", "sum", "deepsets", "transformer"])


@every_encoder
@every_pooling
@pytest.mark.parametrize("norm", ["layer", "none"])
def test_training_does_not_see_the_rest_of_the_batch(name: str, rho: str, norm: str) -> None:
    encoder = BUILD[name](6, rho=rho, norm=norm).double().train()
    every = list(graphs().values())
    together = encoder(Batch.from_data_list(every)).split([graph.num_nodes for graph in every])
    for graph, rows in zip(every, together, strict=True):
        assert largest_error(encoder(graph), rows) < TOLERANCE


@every_encoder
@every_pooling
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_numbers_in_padding_are_not_read(name: str, rho: str, norm: str) -> None:
    """The published mask of SignNet let one zero vector per graph in."""
    encoder = BUILD[name](8, rho=rho, norm=norm).double().train()
    batch = batch_of(k=8)
    expected = encoder(batch)
    padding = torch.arange(8) >= batch.laplacian_eigenvector_count
    batch.laplacian_eigenvalue[padding] = torch.nan
    batch.laplacian_eigenvector_pe[padding[batch.batch]] = torch.nan
    assert largest_error(encoder(batch), expected) < TOLERANCE


@every_encoder
@every_pooling
def test_graphs_without_eigenvectors(name: str, rho: str) -> None:
    """``drop_trivial`` leaves a graph of one node without any; alone and beside others."""
    encoder = BUILD[name](6, rho=rho).double().eval()
    every = [graphs()[name] for name in ("one node", "path", "no edges")]
    for graph in (every[0], every[2]):
        graph.laplacian_eigenvector_count.zero_()
    empty = encoder.linear(
        encoder.rho.mlp(torch.zeros(1, encoder.rho.mlp.channel_list[0]).double())
    )
    together = encoder(Batch.from_data_list(every))
    assert largest_error(together[0], empty[0]) < TOLERANCE
    assert largest_error(together[-4:], empty.expand(4, -1)) < TOLERANCE
    assert largest_error(encoder(every[0]), empty) < TOLERANCE


@every_encoder
@every_pooling
def test_autocast(name: str, rho: str) -> None:
    encoder = BUILD[name](6, rho=rho)
    batch = batch_of()
    batch.apply(lambda value: value.float() if value.is_floating_point() else value)
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        got = encoder(batch)
    assert (got - expected).norm() < 0.1 * expected.norm()
    got.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())
