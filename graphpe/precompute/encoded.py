"""Datasets with computed fields attached."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset, InMemoryDataset

from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.ragged import offsets_of, ragged_arange
from graphpe.transforms import Encoding
from graphpe.transforms.attach import concatenated_field, join_to_x


def attach_to_storage(
    dataset: InMemoryDataset,
    encodings: Sequence[Encoding],
    values: dict[str, Tensor],
    graphs: GraphBatch,
    fields: dict[str, Field],
) -> InMemoryDataset:
    """A dataset of the same class that shares all tensors and has the fields in its collated storage."""
    encoded = copy.copy(dataset)
    encoded._data = copy.copy(dataset._data)
    encoded._data_list = None
    encoded.fields = {**dataset.__dict__.get("fields", {}), **fields}
    if dataset.slices is not None:
        encoded.slices = dict(dataset.slices)
    chosen = torch.as_tensor(list(dataset.indices()))
    for encoding in encodings:
        joined = concatenated_field(encoding)
        for field in encoding.fields():
            value, slices = _in_stored_order(
                values[field.name], graphs.rows(field.level), chosen, dataset.len()
            )
            if field == joined:
                encoded._data.x = join_to_x(
                    encoded._data.get("x"), _fill_rows(value, chosen, dataset)
                )
                if "x" not in (encoded.slices or {"x": None}):
                    encoded.slices["x"] = slices
            else:
                encoded._data[field.name] = value
                if encoded.slices is not None:
                    encoded.slices[field.name] = slices
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


def split_to_graphs(
    data_list: Sequence[Data],
    encodings: Sequence[Encoding],
    values: dict[str, Tensor],
    graphs: GraphBatch,
) -> list[Data]:
    """Copies of the graphs (sharing their tensors) with the fields attached."""
    return [
        attach_rows(data, number, encodings, values, graphs)
        for number, data in enumerate(data_list)
    ]


def attach_rows(
    data: Data,
    number: int,
    encodings: Sequence[Encoding],
    values: dict[str, Tensor],
    graphs: GraphBatch,
) -> Data:
    """A copy of one graph with its rows of the fields."""
    data = copy.copy(data)
    for encoding in encodings:
        joined = concatenated_field(encoding)
        for field in encoding.fields():
            start, end = graphs.rows(field.level)[number : number + 2].tolist()
            value = values[field.name][start:end]
            if field == joined:
                data.x = join_to_x(data.get("x"), value)
            else:
                data[field.name] = value
    return data


class EncodedDataset(Dataset):
    """A PyG dataset that is not held in one piece (on disk, say), with fields added on access.

    Args:
        dataset: The dataset; attributes that are not found here are looked up there.
        encodings: What was computed.
        values: Name → rows of all graphs.
        graphs: The graphs, in the order of the dataset.
        fields: The fields that each graph has.
    """

    def __init__(
        self,
        dataset: Dataset,
        encodings: Sequence[Encoding],
        values: dict[str, Tensor],
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
