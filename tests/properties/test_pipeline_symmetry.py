"""Encoding and encoder together: renumbering a graph renumbers the result, also where eigenvalues repeat.

A solver is free to return any basis of an eigenspace, and returns another one for renumbered nodes; so these tests fail
for an encoder that is only sign invariant.
"""

from __future__ import annotations

import pytest
import torch
from graph_zoo import random_graphs, zoo
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe import Features
from graphpe.nn import SPE, GraphTransformer
from graphpe.transforms import AddLaplacianEigenvectorPE

K = 64  # at least as many as nodes: no eigenspace is cut
TRANSFORM = AddLaplacianEigenvectorPE(K, drop_trivial="none", dtype="float64")
SYMMETRIC = [data for data in zoo().values() if data.num_nodes]


def spe(**options) -> SPE:
    torch.manual_seed(3)
    options = {"hidden_channels": 8, "num_layers": 2, "num_filters": 4, "out_channels": 5} | options
    return SPE(k=K, **options).double().eval()


def renumbered(data: Data, order: torch.Tensor) -> Data:
    result = data.clone()
    result.edge_index = order[data.edge_index]
    return result


def difference(encoder: torch.nn.Module, data: Data, order: torch.Tensor) -> float:
    plain, moved = encoder(TRANSFORM(data)), encoder(TRANSFORM(renumbered(data, order)))
    return float((moved[order] - plain).detach().abs().max())


@pytest.mark.parametrize("options", [{}, {"phi": "deepsets"}, {"rho": "mlp"}], ids=str)
@pytest.mark.parametrize(
    "data", SYMMETRIC, ids=[name for name, data in zoo().items() if data.num_nodes]
)
def test_spe_follows_a_renumbering_of_symmetric_graphs(data: Data, options: dict) -> None:
    order = torch.randperm(data.num_nodes)
    assert difference(spe(**options), data, order) < 1e-8


@settings(max_examples=30)
@given(random_graphs(max_nodes=16, weighted=False), st.integers(0, 2**31))
def test_spe_follows_a_renumbering_of_any_graph(data: Data, seed: int) -> None:
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    assert difference(spe(), data, order) < 1e-8


def test_a_sign_invariant_function_of_the_vectors_would_fail() -> None:
    """The test of the tests above: |V| is invariant to signs, not to a basis."""

    class Absolute(torch.nn.Module):
        def forward(self, data: Data) -> torch.Tensor:
            return data.laplacian_eigenvector_pe.abs()

    data = zoo()["hypercube"]
    assert difference(Absolute(), data, torch.randperm(16)) > 1e-2


def test_a_prediction_does_not_depend_on_the_rest_of_the_batch() -> None:
    torch.manual_seed(0)
    encoder = SPE(k=K, hidden_channels=8, num_layers=2, out_channels=16)
    network = GraphTransformer(
        Features(), hidden_channels=16, num_layers=2, heads=4, positional_encoders=[encoder]
    )
    network.double().eval()
    graphs = [TRANSFORM(data) for data in SYMMETRIC]
    together = network(Batch.from_data_list(graphs))
    for number, data in enumerate(graphs):
        alone = network(Batch.from_data_list([data]))
        torch.testing.assert_close(together[number], alone[0], atol=1e-10, rtol=0)
