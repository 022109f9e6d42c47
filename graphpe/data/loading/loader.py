"""Loaders of batches of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch_geometric.data import Batch

from graphpe.data.loading.batches import GraphBatches
from graphpe.data.loading.samplers import GraphBatchSampler


class GraphLoader(DataLoader):
    """A PyTorch loader of `GraphBatches`, which makes no batch before the first is asked for.

    Lightning starts an iterator before it says which epoch it is for (when training resumes, say). Worker processes
    would by then have made batches in the order of another epoch.
    """

    def __iter__(self) -> Iterator[Batch]:
        return self._batches()

    def _batches(self) -> Iterator[Batch]:
        yield from super().__iter__()


def loader_in_order(graphs: GraphBatches, batch_size: int, num_workers: int) -> GraphLoader:
    """All graphs in their order. Lightning gives each process of DDP its share."""
    return GraphLoader(graphs, batch_size=batch_size, **_settings(num_workers))


def loader_of(graphs: GraphBatches, sampler: GraphBatchSampler, num_workers: int) -> GraphLoader:
    """The batches that a sampler says."""
    # Without a batch size PyTorch takes what the sampler gives for a batch.
    return GraphLoader(graphs, sampler=sampler, batch_size=None, **_settings(num_workers))


def _settings(num_workers: int) -> dict[str, Any]:
    return {
        "num_workers": num_workers,
        "persistent_workers": num_workers > 0,
        "pin_memory": torch.cuda.is_available(),
        "collate_fn": _as_it_is,
    }


def _as_it_is(batch: Batch) -> Batch:
    """`GraphBatches` gives batches, so that there is nothing left to put together."""
    return batch
