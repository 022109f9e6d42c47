"""Graphs that a program already has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch_geometric.data import Data

from graphpe.data.sources.base import GraphSource, SplitGraphs
from graphpe.fields import Field


@dataclass(frozen=True, eq=False)
class InMemorySource(GraphSource):
    """Graphs that the program already has: three lists of ``Data``, or three PyG datasets.

    They may be parts of what `graphpe.encode` returns; the fields that all parts have are known then.

    Args:
        train: Graphs to train on.
        valid: Graphs that choose the checkpoint.
        test: Graphs of the reported result.

    Raises:
        TypeError: If a part is not a sequence of graphs.
    """

    train: Sequence[Data] = field(repr=False)
    valid: Sequence[Data] = field(repr=False)
    test: Sequence[Data] = field(repr=False)

    def __post_init__(self) -> None:
        for name, part in self._parts().items():
            is_sequence = hasattr(part, "__len__") and hasattr(part, "__getitem__")
            if isinstance(part, Data) or not is_sequence:
                raise TypeError(
                    f"{name} is a {type(part).__name__}; it must be a list of Data or a PyG dataset, such as "
                    "list(graphs), [data] or batch.to_data_list()"
                )

    def load(self) -> SplitGraphs:
        parts = self._parts()
        graphs = [graph for part in parts.values() for graph in part]
        numbers = torch.arange(len(graphs)).split([len(part) for part in parts.values()])
        return SplitGraphs(graphs, dict(zip(parts, numbers, strict=True)))

    def prepare(self) -> None:
        pass

    @property
    def fields(self) -> dict[str, Field]:
        declared = [getattr(part, "fields", {}) for part in self._parts().values() if len(part)]
        first, *others = declared or [{}]
        return {
            name: field
            for name, field in first.items()
            if all(fields.get(name) == field for fields in others)
        }

    def _parts(self) -> dict[str, Sequence[Data]]:
        return {"train": self.train, "valid": self.valid, "test": self.test}
