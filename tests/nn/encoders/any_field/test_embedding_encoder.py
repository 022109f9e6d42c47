"""Embeddings of categories."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.nn import EmbeddingEncoder
from graphpe.testing import check_encoder
from graphpe.transforms import AddDegreeSE

PATH = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)


def test_contract() -> None:
    check_encoder(EmbeddingEncoder(2, 4, 8))


def test_each_column_has_a_table_of_its_own() -> None:
    encoder = EmbeddingEncoder(2, 3, 5)
    table = encoder.embedding.weight
    encoded = encoder(AddDegreeSE(2)(PATH.clone()))
    # in- and out-degrees (0, 1), (1, 1), (1, 0)
    assert torch.allclose(encoded, table[[0, 1, 1]] + table[[4, 4, 3]])


def test_a_category_without_a_row_is_refused() -> None:
    data = AddDegreeSE(8)(PATH.clone())
    with pytest.raises(ValueError, match=r"'degree_se' has the category 1, but .*categories=1"):
        EmbeddingEncoder(2, 1, 4)(data)


def test_floats_are_refused_and_the_transform_is_named() -> None:
    (need,) = EmbeddingEncoder(2, 3, 4).requires
    with pytest.raises(ValueError, match="needs integers"):
        need.check(Field("degree_se", "node", 2, torch.float32), "EmbeddingEncoder")
    with pytest.raises(ValueError, match="AddDegreeSE"):
        need.check(None, "EmbeddingEncoder")
