"""Graphs of a dataset that is not in memory, of which a few thousand are read at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch_geometric.data import Data, Dataset, OnDiskDataset

from graphpe.graphs import GraphBatch
from graphpe.precompute.cache.keys import Fingerprint
from graphpe.precompute.sizes import Sizes
from graphpe.precompute.stored.base import StoredGraphs
from graphpe.precompute.stored.invalid import find_invalid, readable

# Graphs that are in memory at a time when all are read through.
_CHUNK = 1024


class GraphsOnDisk(StoredGraphs):
    """Graphs of a dataset that is not in memory.

    All are read once, for their sizes and their fingerprint, and each range again when it is encoded.

    Args:
        dataset: The dataset; its transform does not run.
        allow_invalid: Whether to go on without the graphs that can't be read.
        check: Called with each graph and its number; raises where something is wrong with it.
        advance: Called with the number of graphs each time that some are read through.

    Raises:
        TypeError, ValueError: If a graph can't be read, and all must be, or some have weights and others not.
    """

    def __init__(
        self,
        dataset: Dataset,
        allow_invalid: bool,
        check: Callable[[Data, int], None],
        advance: Callable[[int], object] = lambda count: None,
    ) -> None:
        # Its `multi_get` would run the transform.
        self.dataset = dataset = copy.copy(dataset)
        dataset.transform = None
        self.invalid = {}
        if len(dataset) == 0:
            raise ValueError("got an empty dataset; give at least one graph")
        content = Fingerprint()
        num_nodes, num_edges = [], []
        weighted: bool | None = None
        for start in range(0, len(dataset), _CHUNK):
            stop = min(start + _CHUNK, len(dataset))
            graphs = _read(dataset, start, stop)
            for number, data in enumerate(graphs, start=start):
                check(data, number)
            try:
                batch = GraphBatch.from_list(graphs, start)
            except (ValueError, TypeError):
                if not allow_invalid:
                    raise
                self.invalid |= _invalid(graphs, start)
                batch = GraphBatch.from_list(
                    readable(graphs, self.invalid.__contains__, start), start
                )
            has_weights = batch.edge_weight is not None
            if weighted not in (None, has_weights):
                raise ValueError(
                    f"graph {start - 1} has {'an' if weighted else 'no'} edge_weight but graph {start} has "
                    f"{'one' if has_weights else 'none'}; give weights to all graphs or to none"
                )
            weighted = has_weights
            content.add(batch)
            num_nodes.append(batch.num_nodes)
            num_edges.append(batch.edge_count)
            advance(len(graphs))
        self.sizes = Sizes(torch.cat(num_nodes), torch.cat(num_edges))
        self._fingerprint = content.of(self.invalid)

    def part(self, start: int, stop: int) -> GraphBatch:
        graphs = _read(self.dataset, start, stop)
        return GraphBatch.from_list(readable(graphs, self.invalid.__contains__, start), start)

    def fingerprint(self) -> str:
        return self._fingerprint


def _read(dataset: Dataset, start: int, stop: int) -> list[Data]:
    indices = dataset.indices()[start:stop]
    if isinstance(dataset, OnDiskDataset):
        return dataset.multi_get(indices)
    return [dataset.get(number) for number in indices]


def _invalid(graphs: list[Data], start: int) -> dict[int, str]:
    invalid = find_invalid(
        len(graphs),
        lambda first, last: GraphBatch.from_list(graphs[first:last], start + first),
    )
    return {start + number: reason for number, reason in invalid.items()}
