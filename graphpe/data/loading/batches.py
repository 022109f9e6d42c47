"""`GraphBatches`: a part of a dataset that gives whole batches."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, Dataset
from torch_geometric.loader.dataloader import Collater

from graphpe.data.loading.collation import CollatedGraphs, NotCollatable
from graphpe.data.sources import Part
from graphpe.graphs import GraphBatch
from graphpe.precompute import EncodedDataset
from graphpe.precompute.encoded import layers_of
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import attach, check_concatenation
from graphpe.transforms.core.engine import compute_fields


class GraphBatches(TorchDataset):
    """Graphs of a part of a dataset, one at a time or a batch at a time.

    Batches are taken from collated storage (see `CollatedGraphs`): that of an ``InMemoryDataset``, also where its
    fields are in the cache, or one that is made of a list. Where that can't be done, PyG puts them together of single
    graphs, with the same result; `reason` then says why.

    Args:
        graphs: The part.
        encodings: What to attach to each batch when it is made.
        storages: Collated storages by the ``id`` of what they were made of, which is alive. Parts of one list that are
            given the same dictionary share its storage.
    """

    def __init__(
        self,
        graphs: Part,
        encodings: Sequence[Encoding] = (),
        storages: dict[int, CollatedGraphs | NotCollatable] | None = None,
    ) -> None:
        self.graphs = graphs
        self.encodings = list(encodings)
        self._collate = Collater(graphs)
        whole, self._numbers = whole_and_numbers(graphs)
        storage = _storage(whole, {} if storages is None else storages)
        self._storage = None if isinstance(storage, NotCollatable) else storage
        self.reason = str(storage) if isinstance(storage, NotCollatable) else None

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, number: Any) -> Data | Batch:
        """A graph, or the batch of a list of numbers."""
        if isinstance(number, list | tuple):
            return self.__getitems__(number)
        return self._encoded(copy.copy(self.graphs[number]))

    def __getitems__(self, numbers: Sequence[int]) -> Batch:
        """The batch of some graphs; PyTorch's loaders ask for it."""
        if self._storage is not None:
            return self._encoded(self._storage.batch(self._numbers[torch.as_tensor(numbers)]))
        return self._encoded(self._collate([self.graphs[number] for number in numbers]))

    def num_nodes(self) -> Tensor:
        """How many nodes each graph has ``[graphs]``."""
        if self._storage is not None and self._storage.num_nodes is not None:
            return self._storage.num_nodes[self._numbers]
        return torch.tensor([self.graphs[number].num_nodes for number in range(len(self))])

    def _encoded(self, data: Data) -> Data:
        if not self.encodings:
            return data
        graphs = GraphBatch.of(data)
        check_concatenation(self.encodings, data)
        attach(data, self.encodings, compute_fields(graphs, self.encodings), graphs)
        return data


def whole_and_numbers(graphs: Part) -> tuple[Any, Tensor]:
    """What a part is a part of, and which numbers its graphs have there.

    PyG's ``dataset[index]`` and PyTorch's ``Subset``, also of each other, know the numbers of their graphs.
    """
    if isinstance(graphs, Subset):
        whole, numbers = whole_and_numbers(graphs.dataset)
        return whole, numbers[torch.as_tensor(graphs.indices, dtype=torch.long)]
    if isinstance(graphs, Dataset):
        return graphs, torch.as_tensor(list(graphs.indices()), dtype=torch.long)
    return graphs, torch.arange(len(graphs))


def stored_numbers(graphs: Part) -> Tensor:
    """Which numbers the graphs of a part have where they are stored, also below what was encoded with a cache."""
    whole, numbers = whole_and_numbers(graphs)
    within = layers_of(whole).numbers if isinstance(whole, EncodedDataset) else None
    return numbers if within is None else within[numbers]


def _storage(whole: Any, storages: dict[int, Any]) -> CollatedGraphs | NotCollatable:
    """The storage of a dataset or list, made the first time."""
    if id(whole) not in storages:
        try:
            storages[id(whole)] = CollatedGraphs.of(whole)
        except NotCollatable as reason:
            storages[id(whole)] = reason
    return storages[id(whole)]
