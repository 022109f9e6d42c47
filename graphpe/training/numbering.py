"""Which graph is which row of an evaluated batch, whatever part of a split this process has."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler, Subset
from torch_geometric.data import Dataset


def graph_order(loader: DataLoader) -> Tensor | None:
    """The graph numbers in the order in which this process's batches hold them.

    A part of a dataset, such as PyG's ``dataset[index]``, has the numbers of the whole dataset.

    Args:
        loader: An evaluation loader. Under DDP its sampler is a ``DistributedSampler``.

    Returns:
        Graph numbers, or None if the loader goes through the graphs in an order that can't be known beforehand.
    """
    # Lightning wraps batch samplers, but leaves their sampler in place.
    sampler = getattr(loader.batch_sampler, "sampler", None)
    if isinstance(sampler, DistributedSampler):
        if sampler.shuffle:
            return None
    elif not isinstance(sampler, SequentialSampler):
        return None
    positions = torch.tensor(list(sampler), dtype=torch.long)
    if isinstance(loader.dataset, Dataset):
        return torch.tensor(list(loader.dataset.indices()))[positions]
    if isinstance(loader.dataset, Subset):
        return torch.tensor(list(loader.dataset.indices))[positions]
    return positions
