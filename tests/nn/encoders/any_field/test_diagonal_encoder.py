"""The diagonal of a pair field, at the nodes."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, featured, largest_error
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import DiagonalEncoder, PairEncoder, Transformer
from graphpe.transforms import AddRandomWalkPE, AddRelativeRandomWalkPE

FIELD = "relative_random_walk_pe"


def graphs() -> list[Data]:
    every = (small_graphs() | small_directed_graphs()).values()
    return [AddRelativeRandomWalkPE(4, dtype="float64")(featured(graph)) for graph in every]


def test_equals_the_formula_graph_by_graph() -> None:
    encoder = DiagonalEncoder(4, 5).double()
    expected = []
    for graph in graphs():
        n = graph.num_nodes
        walks = graph[FIELD].view(n, n, 4)
        expected += [encoder.linear(walks[i, i]) for i in range(n)]
    got = encoder(Batch.from_data_list(graphs()))
    assert largest_error(got, torch.stack(expected)) < 1e-12


def test_the_diagonal_of_walks_is_the_return_probabilities() -> None:
    """An independent computation; 0 steps come first."""
    encoder = DiagonalEncoder(4, 4).double()
    with torch.no_grad():
        encoder.linear.weight.copy_(torch.eye(4))
        encoder.linear.bias.zero_()
    for graph in map(featured, small_graphs().values()):
        returns = AddRandomWalkPE(3, dtype="float64")(graph).random_walk_pe
        diagonal = encoder(AddRelativeRandomWalkPE(4, dtype="float64")(graph))
        expected = torch.cat([torch.ones(len(returns), 1), returns], dim=1)
        torch.testing.assert_close(diagonal, expected, rtol=1e-6, atol=1e-6)


def test_a_missing_field_names_the_transform() -> None:
    with pytest.raises(ValueError, match=rf"'{FIELD}'.*AddRelativeRandomWalkPE\(walk_length=4\)"):
        DiagonalEncoder(4, 5)(small_graphs()["path"])
    with pytest.raises(ValueError, match="in_channels is 0"):
        DiagonalEncoder(0, 5)


def test_walks_enter_a_transformer_as_in_grit() -> None:
    """The diagonal at nodes, all pairs at the logits; equal to each graph alone, whatever its size."""
    encoders = [
        DiagonalEncoder(4, 16),
        PairEncoder(4, 16, FIELD, "AddRelativeRandomWalkPE", num_layers=1),
    ]
    network = Transformer(FEATURES, 2, 16, 2, 4, positional_encoders=encoders).double()
    network.check_fields({field.name: field for field in AddRelativeRandomWalkPE(4).fields()})
    every = graphs()
    together = network(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-12
    together.sum().backward()
    for encoder in encoders:
        for parameter in encoder.parameters():
            assert parameter.grad.isfinite().all()
    assert encoders[0].linear.weight.grad.abs().sum() > 0
    assert encoders[1].mlp.lins[0].weight.grad.abs().sum() > 0
