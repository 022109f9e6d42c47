"""`EncodedDataset`: a dataset whose fields are added on access."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset, InMemoryDataset
from torch_geometric.data.dataset import IndexType

from graphpe.fields import Field
from graphpe.precompute.encoded.graphs import attach_rows, rows_of_graphs
from graphpe.precompute.sizes import Sizes
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, join_to_x, named_values

# What PyG's datasets have besides; it would give or change graphs without the fields.
_OF_MEMORY = ("cpu", "cuda", "data", "load", "slices", "to", "to_on_disk_dataset")
_OF_DISK = ("append", "extend", "multi_get")

# What PyG's base class sets for a dataset of its own; here it is that of the wrapped one.
_SETTINGS = ("root", "pre_transform", "pre_filter", "log", "force_reload")


def _of_the_dataset(name: str) -> property:
    return property(lambda self: getattr(self._part(), name))


class EncodedDataset(Dataset):
    """A PyG dataset with fields that are added on access, and read from the cache if they are there.

    It stands for the dataset that it wraps: attributes and methods that are not found here are looked up there, in the
    part of it that is left after ``encoded[index]``.

    Args:
        dataset: The dataset.
        encodings: What was computed.
        values: For each encoding its fields of all graphs: tensors, or `MappedField` of the cache.
        sizes: How large each graph is, in the order of the dataset.
        fields: The fields that each graph has.
    """

    raw_file_names = _of_the_dataset("raw_file_names")
    raw_dir = _of_the_dataset("raw_dir")
    raw_paths = _of_the_dataset("raw_paths")
    processed_file_names = _of_the_dataset("processed_file_names")
    processed_dir = _of_the_dataset("processed_dir")
    processed_paths = _of_the_dataset("processed_paths")

    def __init__(
        self,
        dataset: Dataset,
        encodings: Sequence[Encoding],
        values: Values,
        sizes: Sizes,
        fields: dict[str, Field],
    ) -> None:
        super().__init__(transform=dataset.transform)
        for name in _SETTINGS:
            self.__dict__.pop(name, None)
        self.dataset = dataset
        self.encodings = tuple(encodings)
        self.fields = {**dataset.__dict__.get("fields", {}), **fields}
        self.failures: dict[int, str] = {}
        self.values = values
        self.sizes = sizes

    def len(self) -> int:
        return len(self.sizes)

    def get(self, idx: int) -> Data:
        data = self.dataset.get(self.dataset.indices()[idx])
        data = attach_rows(data, idx, self.encodings, self.values, self.sizes)
        if "num_nodes" in data and isinstance(self._innermost(), InMemoryDataset):
            # PyG has it behind all that is stored, as fields are without a cache.
            data.num_nodes = data._store.pop("num_nodes")
        return data

    def copy(self, idx: IndexType | None = None) -> InMemoryDataset:
        """The graphs and their fields in memory, as a dataset of the class of the wrapped one.

        Args:
            idx: Which graphs; None: all.

        Raises:
            TypeError: If the wrapped dataset is not one in memory.
        """
        dataset = self._innermost()
        if not isinstance(dataset, InMemoryDataset):
            raise TypeError(
                f"copy is for the graphs of an InMemoryDataset, but they are those of a {type(dataset).__name__}; take "
                "list(encoded)"
            )
        chosen = self if idx is None else self.index_select(idx)
        copied = copy.copy(dataset)
        copied.transform = self.transform
        copied._indices = None
        copied._data_list = None
        copied._data, copied.slices = dataset.collate([chosen.get(i) for i in chosen.indices()])
        copied.fields, copied.failures = self.fields, self.failures
        return copied

    @property
    def num_classes(self) -> int:
        of_pyg = (Dataset.num_classes, InMemoryDataset.num_classes)
        if self.transform is not None and type(self._innermost()).num_classes in of_pyg:
            return super().num_classes  # of graphs with fields, which the transform may need
        return self._part().num_classes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataset" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name in _OF_MEMORY or name in _OF_DISK:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}, which would leave out the fields; index it, or take its "
                "copy(), a dataset in memory"
            )
        stacked = self._stacked(name)
        return getattr(self._part(), name) if stacked is None else stacked

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._part()}, fields={list(self.fields)})"

    def _part(self) -> Dataset:
        """The graphs that are left, without fields: the wrapped dataset or a part of it."""
        if self._indices is None and self.transform is self.dataset.transform:
            return self.dataset
        part = copy.copy(self.dataset)
        part.transform = self.transform
        if self._indices is not None:
            # Not by index_select, which would copy the numbers of millions of graphs for each attribute.
            every = part._indices
            part._indices = (
                self._indices if every is None else [every[number] for number in self._indices]
            )
        return part

    def _innermost(self) -> Dataset:
        """The dataset below those of earlier calls."""
        dataset = self.dataset
        return dataset._innermost() if isinstance(dataset, EncodedDataset) else dataset

    def _stacked(self, name: str) -> Tensor | None:
        """A field, or ``x`` that fields are joined to, of all graphs that are left, as an InMemoryDataset has it."""
        written = [
            (own, field, value)
            for own, field, value in named_values(self.encodings, self.values)
            if (own or "x") == name
        ]
        if not written or not isinstance(self._innermost(), InMemoryDataset):
            return None
        numbers = torch.as_tensor(list(self.indices()), dtype=torch.long)
        stacked = getattr(self._part(), "x", None) if name == "x" else None
        for own, field, value in written:
            rows = rows_of_graphs(value, self.sizes.rows(field.level), numbers)
            stacked = join_to_x(stacked, rows) if own is None else rows
        return stacked
