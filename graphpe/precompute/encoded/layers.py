"""What an `EncodedDataset` is made of: a dataset, and the fields of one or more calls of ``encode`` around it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Dataset

from graphpe.precompute.encoded.dataset import EncodedDataset
from graphpe.precompute.encoded.mapped import MappedField
from graphpe.transforms.core.attach import named_values


class AddedField(NamedTuple):
    """A field that graphs get on access.

    Args:
        name: Its attribute; None: it goes behind the columns of ``x``.
        value: The field.
        rows: Where each graph that was encoded starts in it, and the end of the last.
        numbers: int64 ``[graphs]``, which of these the graphs are; None: all in their order.
    """

    name: str | None
    value: Tensor | MappedField
    rows: Tensor
    numbers: Tensor | None


class Layers(NamedTuple):
    """What an `EncodedDataset` is made of.

    Args:
        dataset: The dataset within.
        numbers: int64 ``[graphs]``, which of the graphs that it stores the graphs are; None: all in their order.
        fields: The fields, in the order in which they are added.
    """

    dataset: Dataset
    numbers: Tensor | None
    fields: list[AddedField]


def layers_of(encoded: EncodedDataset) -> Layers:
    """What all graphs that were encoded are made of, whatever the index of ``encoded``."""
    dataset: Dataset = encoded
    numbers: Tensor | None = None
    fields: list[AddedField] = []
    while isinstance(dataset, EncodedDataset):
        added = [
            AddedField(name, value, dataset.sizes.rows(field.level), numbers)
            for name, field, value in named_values(dataset.encodings, dataset.values)
        ]
        fields = added + fields
        dataset = dataset.dataset
        if dataset._indices is not None:
            chosen = torch.as_tensor(list(dataset._indices), dtype=torch.long)
            numbers = chosen if numbers is None else chosen[numbers]
    return Layers(dataset, numbers, fields)
