"""The vectors of edges that a network starts from."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from graphpe.nn import Encodings
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.tasks import Features

DATA = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), edge_attr=torch.tensor([0, 3, 1]))


def test_embedding_and_encodings() -> None:
    module = EdgeVectors(Features(edge_categories=(4,)), 5, [2], [3])
    added, gate = torch.randn(3, 2), torch.randn(3, 3)
    expected = module.embedding(DATA) + module.encodings.added[0](added)
    expected = expected * module.encodings.gates[0](gate)
    encodings = Encodings(added_to_edges=[added], edge_gates=[gate])
    torch.testing.assert_close(module(DATA, encodings), expected)
    assert module.constant is None


def test_without_features_encodings_are_the_vectors() -> None:
    module, added = EdgeVectors(Features(), 5, [2]), torch.randn(3, 2)
    got = module(DATA, Encodings(added_to_edges=[added]))
    torch.testing.assert_close(got, module.encodings.added[0](added))


def test_without_anything_all_edges_are_one_learned_vector() -> None:
    module = EdgeVectors(Features(), 5)
    assert torch.equal(module(DATA, Encodings()), module.constant.repeat(3, 1))
    assert [name for name, _ in module.named_parameters()] == ["constant"]
    empty = Data(edge_index=torch.zeros(2, 0, dtype=torch.long))
    assert module(empty, Encodings()).shape == (0, 5)
