"""GRIT."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, batch_of, count_parameters, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import GRIT, PEG, DiagonalEncoder, PairEncoder
from graphpe.tasks import Features
from graphpe.transforms import AddRelativeRandomWalkPE

K = 5


def encoders(hidden: int, k: int = K) -> list:
    pairs = PairEncoder(
        k, hidden, "relative_random_walk_pe", "AddRelativeRandomWalkPE", num_layers=1
    )
    return [DiagonalEncoder(k, hidden), pairs]


def grit(hidden: int = 16, **settings: object) -> GRIT:
    return GRIT(FEATURES, 2, hidden, 2, 4, positional_encoders=encoders(hidden), **settings)


def walks(batch: Batch) -> Batch:
    transform = AddRelativeRandomWalkPE(K)
    return Batch.from_data_list([transform(graph) for graph in batch.to_data_list()])


def test_published_number_of_parameters() -> None:
    """473,473 of ZINC: with 21 kinds of atoms, and without bias in the two encoders."""
    zinc = Features(node_categories=(21,), edge_categories=(4,))
    network = GRIT(zinc, positional_encoders=encoders(64, 21))
    assert count_parameters(network) == 473_473 + 2 * 64


def test_first_vectors_of_pairs() -> None:
    """Edges at (source, target), parallel ones added up, loops at the diagonal, and the encodings at all pairs."""
    edge_index = torch.tensor([[0, 0, 2, 1], [1, 1, 2, 0]])
    small = Data(torch.zeros(1, 1).long(), torch.empty(2, 0).long(), torch.empty(0).long())
    graph = Data(torch.zeros(3, 1).long(), edge_index, torch.tensor([1, 2, 3, 0]))
    batch = walks(Batch.from_data_list([small, graph]))
    network = grit()
    seen: list = []
    network.layers[0].register_forward_pre_hook(lambda _, arguments: seen.extend(arguments))
    network(batch)
    embedded = network.edge_vectors.embedding.embedding.weight
    expected = network.positional_encoders[1](batch).clone()
    expected[1 + 1] += embedded[1] + embedded[2]
    expected[1 + 8] += embedded[3]
    expected[1 + 3] += embedded[0]
    torch.testing.assert_close(seen[1], expected)
    torch.testing.assert_close(seen[3][:, 0], torch.tensor([1, 3, 2, 2]).float().log())


def test_nothing_passes_between_graphs() -> None:
    """With encodings of pairs; huge next to tiny."""
    network = grit().double().eval()
    every = [AddRelativeRandomWalkPE(K, dtype="float64")(graph) for graph in graphs().values()]
    together = network(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-9


def test_order_of_nodes_and_edges_does_not_matter() -> None:
    network = grit().double().eval()
    transform = AddRelativeRandomWalkPE(K, dtype="float64")
    for graph in graphs().values():
        new, order = torch.randperm(graph.num_nodes), torch.randperm(graph.num_edges)
        permuted = graph.clone()
        permuted.edge_index = new[graph.edge_index[:, order]]
        permuted.edge_attr = graph.edge_attr[order]
        permuted.x = torch.empty_like(graph.x)
        permuted.x[new] = graph.x
        assert largest_error(network(transform(permuted)), network(transform(graph))) < 1e-9


def test_directed_edges_have_a_direction() -> None:
    graph = batch_of("path")[0]
    graph.edge_index = graph.edge_index[:, :5]
    graph.edge_attr = torch.tensor([1, 2, 3, 1, 2])
    backward = graph.clone()
    backward.edge_index = graph.edge_index.flip(0)
    transform, network = AddRelativeRandomWalkPE(K), grit().eval()
    assert not torch.allclose(network(transform(graph)), network(transform(backward)))


def test_edges_without_features_have_a_vector() -> None:
    network = GRIT(Features((28,)), 2, 16, 2, 4).eval()
    batch = batch_of("path")
    expected = network(batch)
    batch.edge_index = batch.edge_index[:, :-1]
    assert not torch.allclose(network(batch), expected)


def test_edge_encoders() -> None:
    network = GRIT(FEATURES, 2, 16, 2, 4, positional_encoders=[PEG(6, 16)])
    network(batch_of()).sum().backward()
    assert network.edge_vectors.encodings.gates[0].weight.grad.isfinite().all()


@pytest.mark.parametrize(("level", "rows"), [("graph", 2), ("node", 11), ("pair", 61)])
def test_levels(level: str, rows: int) -> None:
    batch = walks(batch_of("path", "complete"))
    assert grit(level=level)(batch).shape == (rows, 2)


def test_unused_update_of_pairs_is_frozen() -> None:
    """Distributed training waits for the gradient of every parameter that learns."""
    frozen = {name for name, p in grit().named_parameters() if not p.requires_grad}
    assert frozen
    assert all(name.startswith("layers.1.pair_update.") for name in frozen)


def test_width_of_encoders_of_pairs() -> None:
    message = "PairEncoder has out_channels=8, but it is added to vectors of pairs.*make it 16"
    with pytest.raises(ValueError, match=message):
        GRIT(FEATURES, 2, 16, positional_encoders=encoders(8)[1:])
