"""Graphs that are in memory, or in files that are mapped to it."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch_geometric.data import Data, InMemoryDataset

from graphpe.graphs import GraphBatch
from graphpe.precompute.cache.keys import Fingerprint
from graphpe.precompute.sizes import Sizes
from graphpe.precompute.stored.base import StoredGraphs
from graphpe.precompute.stored.invalid import find_invalid, readable


class GraphsInMemory(StoredGraphs):
    """Graphs that are in memory.

    Args:
        graphs: The graphs.
        invalid: Those that can't be read; see `StoredGraphs`.
    """

    def __init__(self, graphs: GraphBatch, invalid: dict[int, str] | None = None) -> None:
        self.graphs = graphs
        self.invalid = invalid or {}
        self.sizes = Sizes(graphs.num_nodes, graphs.edge_count)

    @classmethod
    def of(cls, graphs: InMemoryDataset | Sequence[Data], allow_invalid: bool) -> GraphsInMemory:
        """The graphs of a dataset or a list.

        Args:
            graphs: The dataset or the list.
            allow_invalid: Whether to go on without the graphs that can't be read.

        Raises:
            TypeError, ValueError: If a graph can't be read, and all must be.
        """
        try:
            return cls(GraphBatch.of(graphs))
        except (ValueError, TypeError):
            if not allow_invalid or not len(graphs):
                raise
        if isinstance(graphs, InMemoryDataset):
            invalid = find_invalid(
                len(graphs),
                lambda start, stop: GraphBatch.from_dataset(graphs[start:stop], start),
            )
            return cls(GraphBatch.of(_readable_dataset(graphs, invalid)), invalid)
        invalid = find_invalid(
            len(graphs), lambda start, stop: GraphBatch.from_list(graphs[start:stop], start)
        )
        return cls(GraphBatch.from_list(readable(graphs, invalid.__contains__, 0)), invalid)

    def part(self, start: int, stop: int) -> GraphBatch:
        return self.graphs.part(start, stop)

    def fingerprint(self) -> str:
        content = Fingerprint()
        content.add(self.graphs)
        return content.of(self.invalid)


def _readable_dataset(dataset: InMemoryDataset, invalid: dict[int, str]) -> InMemoryDataset:
    """The dataset with loops of the first node as the edges of the graphs that can't be read."""
    stored = torch.as_tensor(list(dataset.indices()))[sorted(invalid)]
    result = copy.copy(dataset)
    result._data = copy.copy(dataset._data)
    result._data_list = None
    for name, value in (("edge_index", 0), ("edge_weight", 1)):
        if result._data.get(name) is None:
            continue
        changed = result._data[name].clone()
        for start, stop in dataset.slices[name][torch.stack([stored, stored + 1], 1)].tolist():
            if name == "edge_index":
                changed[:, start:stop] = value
            else:
                changed[start:stop] = value
        result._data[name] = changed
    return result
