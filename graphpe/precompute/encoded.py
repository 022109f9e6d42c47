"""Datasets with computed fields attached."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset, InMemoryDataset

from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.ragged import offsets_of, ragged_arange
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, join_to_x, named_values


def attach_to_storage(
    dataset: InMemoryDataset,
    encodings: Sequence[Encoding],
    values: Values,
    graphs: GraphBatch,
    fields: dict[str, Field],
) -> InMemoryDataset:
    """A dataset of the same class that shares all tensors and has the fields in its collated storage."""
    encoded = copy.copy(dataset)
    encoded._data = copy.copy(dataset._data)
    encoded._data_list = None
    encoded.fields = {**dataset.__dict__.get("fields", {}), **fields}
    if dataset.slices is None:  # PyG keeps a dataset of one graph uncollated
        encoded._data = attach_rows(dataset._data, 0, encodings, values, graphs)
        return encoded
    encoded.slices = dict(dataset.slices)
    chosen = torch.as_tensor(list(dataset.indices()))
    for name, field, value in named_values(encodings, values):
        value, slices = _in_stored_order(value, graphs.rows(field.level), chosen, dataset.len())
        if name is None:
            x = encoded._data.get("x")
            encoded._data.x = join_to_x(x, _fill_rows(value, chosen, dataset))
            encoded.slices.setdefault("x", slices)
        else:
            encoded._data[name] = value
            encoded.slices[name] = slices
    return encoded


def _in_stored_order(
    value: Tensor, rows: Tensor, chosen: Tensor, stored: int
) -> tuple[Tensor, Tensor]:
    """Rows and slices of a field for a storage of which only the graphs ``chosen`` are in the dataset."""
    counts = torch.zeros(stored, dtype=torch.long)
    counts[chosen] = rows.diff()
    slices = offsets_of(counts)
    if bool((chosen[1:] > chosen[:-1]).all()):
        return value, slices
    position = torch.full((stored,), -1)  # of each stored graph in the dataset
    position[chosen] = torch.arange(len(chosen))
    order = position[position >= 0]
    slot, offset = ragged_arange(rows.diff()[order])
    return value[(rows[order][slot] + offset).to(value.device)], slices


def _fill_rows(value: Tensor, chosen: Tensor, dataset: InMemoryDataset) -> Tensor:
    """``value`` for every stored node: zeros for the graphs that are not in the dataset, which nobody sees."""
    x = dataset._data.get("x")
    if x is None or len(value) == len(x):
        return value
    slot, offset = ragged_arange(dataset.slices["x"].diff()[chosen.unique()])
    full = value.new_zeros(len(x), value.shape[1])
    full[(dataset.slices["x"][chosen.unique()][slot] + offset).to(value.device)] = value
    return full


class EncodedList(list[Data]):
    """A list of graphs that carry fields; a slice of it is one, too.

    Args:
        graphs: The graphs.
        fields: The fields that each graph has.
    """

    def __init__(self, graphs: Iterable[Data], fields: dict[str, Field]) -> None:
        super().__init__(graphs)
        self.fields = fields

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return EncodedList(item, self.fields) if isinstance(index, slice) else item


def attach_rows(
    data: Data, number: int, encodings: Sequence[Encoding], values: Values, graphs: GraphBatch
) -> Data:
    """A copy of one graph with its own rows of the fields (no views, which would keep all graphs in memory)."""
    data = copy.copy(data)
    for name, field, value in named_values(encodings, values):
        start, end = graphs.rows(field.level)[number : number + 2].tolist()
        if name is None:
            data.x = join_to_x(data.get("x"), value[start:end])
        else:
            data[name] = value[start:end].clone()
    return data


class EncodedDataset(Dataset):
    """A PyG dataset that is not held in one piece (on disk, say), with fields added on access.

    Args:
        dataset: The dataset; attributes that are not found here are looked up there.
        encodings: What was computed.
        values: For each encoding the rows of all graphs.
        graphs: The graphs, in the order of the dataset.
        fields: The fields that each graph has.
    """

    def __init__(
        self,
        dataset: Dataset,
        encodings: Sequence[Encoding],
        values: Values,
        graphs: GraphBatch,
        fields: dict[str, Field],
    ) -> None:
        super().__init__(transform=dataset.transform)
        self.dataset = dataset
        self.encodings = tuple(encodings)
        self.fields = {**dataset.__dict__.get("fields", {}), **fields}
        self._values = values
        self._graphs = graphs

    def len(self) -> int:
        return len(self._graphs)

    def get(self, idx: int) -> Data:
        data = self.dataset.get(self.dataset.indices()[idx])
        return attach_rows(data, idx, self.encodings, self._values, self._graphs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataset" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.dataset, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dataset}, fields={list(self.fields)})"
