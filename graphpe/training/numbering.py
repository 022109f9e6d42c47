"""Which graph is which row of an evaluated batch, whatever part of a split this process has."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

from graphpe.data.loading import GraphBatches, stored_numbers


def graph_order(loader: DataLoader) -> Tensor | None:
    """The graph numbers in the order in which this process's batches hold them.

    A part of a dataset, such as PyG's ``dataset[index]``, has the numbers of the whole dataset.

    Args:
        loader: An evaluation loader. Under DDP its sampler is a ``DistributedSampler``.

    Returns:
        Graph numbers, or None if the loader goes through the graphs in an order that can't be known beforehand.
    """
    # Lightning wraps batch samplers, but leaves their sampler in place. A loader without a batch sampler has a sampler
    # that gives whole batches, in an order that is drawn anew for each pass.
    sampler = getattr(loader.batch_sampler, "sampler", None)
    if isinstance(sampler, DistributedSampler):
        if sampler.shuffle:
            return None
    elif not isinstance(sampler, SequentialSampler):
        return None
    positions = torch.tensor(list(sampler), dtype=torch.long)
    graphs = loader.dataset
    if isinstance(graphs, GraphBatches):
        graphs = graphs.graphs
    return stored_numbers(graphs)[positions]
