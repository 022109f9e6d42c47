"""`EncodedDataset`: a dataset whose fields are added on access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_geometric.data import Data, Dataset

from graphpe.fields import Field
from graphpe.precompute.encoded.graphs import attach_rows
from graphpe.precompute.sizes import Sizes
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values


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

    def __init__(
        self,
        dataset: Dataset,
        encodings: Sequence[Encoding],
        values: Values,
        sizes: Sizes,
        fields: dict[str, Field],
    ) -> None:
        super().__init__(transform=dataset.transform)
        self.dataset = dataset
        self.encodings = tuple(encodings)
        self.fields = {**dataset.__dict__.get("fields", {}), **fields}
        self.values = values
        self.sizes = sizes

    def len(self) -> int:
        return len(self.sizes)

    def get(self, idx: int) -> Data:
        data = self.dataset.get(self.dataset.indices()[idx])
        return attach_rows(data, idx, self.encodings, self.values, self.sizes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "dataset" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        dataset = self.dataset
        if self._indices is not None:
            dataset = dataset.index_select(list(self._indices))
        return getattr(dataset, name)

    def __repr__(self) -> str:
        dataset = (
            self.dataset
            if self._indices is None
            else self.dataset.index_select(list(self._indices))
        )
        return f"{type(self).__name__}({dataset}, fields={list(self.fields)})"
