"""`CollatedGraphs`: batches put together from collated storage by index arithmetic."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset
from torch_geometric.data.collate import collate
from torch_geometric.data.separate import separate
from torch_geometric.data.storage import N_KEYS

from graphpe.data.loading.columns import (
    Chosen,
    Column,
    JoinedColumn,
    ListColumn,
    MappedColumn,
    Slicing,
    TensorColumn,
    stays_as_it_is,
)
from graphpe.precompute import EncodedDataset
from graphpe.precompute.encoded import AddedField, layers_of
from graphpe.ragged import offsets_of

# PyG keeps it as one number for all, and those of each graph elsewhere.
_NUM_NODES = "num_nodes"

# How a sum with a whole number is rounded depends on the device.
_HALF_PRECISION = (torch.float16, torch.bfloat16, torch.complex32)


class NotCollatable(ValueError):
    """Says why batches of some graphs must be made by PyG, one graph after the other."""


class CollatedGraphs:
    """Graphs in one piece, from which batches are taken without a ``Data`` for each graph.

    A batch equals ``torch_geometric.data.Batch.from_data_list`` of its graphs to the bit, with its bookkeeping. Of
    each column only the rows of a batch are read, so columns may be memory-mapped. What is added for each graph to the
    attributes that hold node numbers (those whose name contains ``index``, and ``face``) is as in PyG's ``Data``.

    Args:
        data: What ``InMemoryDataset.collate`` gives: the attributes of all graphs, one after the other.
        slices: Where each graph starts, by attribute.
        names: The attributes in the order that a batch has them in; None for that in which PyG takes them from storage.
        numbers: int64 ``[graphs]``, which of the stored graphs the graphs are; None: all in their order.
        fields: What the graphs get besides, read from the cache say.

    Raises:
        NotCollatable: If PyG would put an attribute together in a way that isn't covered here: a class other than
            ``Data`` (it may have an ``__inc__`` of its own), sparse or nested tensors, dictionaries, lists of tensors,
            attributes with ``batch`` in their name, or graphs that don't say how many nodes they have.
    """

    def __init__(
        self,
        data: Data,
        slices: dict[str, Tensor],
        names: Sequence[str] | None = None,
        numbers: Tensor | None = None,
        fields: Sequence[AddedField] = (),
    ) -> None:
        if type(data) is not Data:
            raise NotCollatable(f"the graphs are {type(data).__name__} objects")
        first = separate(Data, data, 0, slices, decrement=False)
        self._numbers = numbers
        # To be copied: PyG takes longer to make one.
        self._empty = Batch(_base_cls=Data)
        self._slicings: list[Slicing] = []
        self._columns = {
            name: self._column(name, data[name], slices[name])
            for name in (first._store if names is None else names)
            if name != _NUM_NODES
        }
        for field in fields:
            name = field.name or "x"
            self._columns[name] = self._added(field, self._columns.get(name), data)
        self._counts_in_batch = _NUM_NODES in first._store
        last = [_NUM_NODES] if self._counts_in_batch else []
        self._names = [*self._columns, *last] if names is None else list(names)
        self._has_batch = first._store.can_infer_num_nodes
        self.num_nodes = self._nodes_of_each(data)

    @classmethod
    def of(cls, graphs: Dataset | Sequence[Data]) -> CollatedGraphs:
        """The graphs of a dataset (all that are stored, whatever its index) or a list.

        Raises:
            NotCollatable: See `CollatedGraphs`; also for a dataset with a transform, or with a way of its own to give
                its graphs, and a list whose graphs have different attributes.
        """
        if isinstance(graphs, Dataset) and graphs.transform is not None:
            raise NotCollatable(
                f"{type(graphs).__name__} has a transform, which runs on each graph"
            )
        if isinstance(graphs, InMemoryDataset):
            return cls(*_storage_of(graphs))
        if isinstance(graphs, EncodedDataset):
            graphs, numbers, fields = layers_of(graphs)
            if isinstance(graphs, InMemoryDataset):
                return cls(*_storage_of(graphs), numbers=numbers, fields=fields)
        if isinstance(graphs, list | tuple):
            return cls(*_collated(graphs))
        raise NotCollatable(f"a {type(graphs).__name__} does not hold its graphs in one piece")

    def batch(self, numbers: Tensor) -> Batch:
        """The batch of some graphs.

        Args:
            numbers: int64 ``[B]``, numbers of graphs in the storage.
        """
        counts = None if self.num_nodes is None else self.num_nodes[numbers]
        ptr = None if counts is None else offsets_of(counts)
        chosen = Chosen(numbers, numbers.new_zeros(len(numbers)) if ptr is None else ptr[:-1])
        rows = {id(slicing): slicing.rows_of(numbers) for slicing in self._slicings}
        batch = copy.copy(self._empty)
        store = batch._store
        slices: dict[str, Tensor] = {}
        increments: dict[str, Tensor | None] = {}
        device = None
        for name in self._names:
            if name == _NUM_NODES:
                store._num_nodes = counts.tolist()
                store.num_nodes = int(ptr[-1])
                continue
            column = self._columns[name]
            value, slices[name], increments[name] = column.take(chosen, rows[id(column.slicing)])
            if isinstance(value, Tensor) and value.is_cuda:
                device = value.device
            store[name] = value
        if self._has_batch:
            graph = torch.repeat_interleave(torch.arange(len(numbers)), counts)
            store.batch, store.ptr = graph.to(device), ptr.to(device)
        batch._num_graphs = len(numbers)
        batch._slice_dict = slices
        batch._inc_dict = increments
        return batch

    def _column(self, name: str, value: Any, slices: Any) -> Column:
        if name == "ptr" or "batch" in name:
            raise NotCollatable(
                f"the graphs have an attribute {name!r}, whose name PyG takes for its own"
            )
        if type(value) is Tensor and value.layout == torch.strided and not value.is_nested:
            if not isinstance(slices, Tensor) or value.dim() == 0:
                raise NotCollatable(f"{name!r} is not sliced by graphs")
            counts_nodes = _counts_nodes(name)
            if counts_nodes and value.dtype in _HALF_PRECISION:
                raise NotCollatable(f"{name!r} holds node numbers in {value.dtype}")
            return TensorColumn(self._slicing(slices, self._numbers), value, counts_nodes)
        is_list = isinstance(value, list) and isinstance(slices, Tensor)
        if is_list and all(map(stays_as_it_is, value)):
            if self._numbers is not None:
                value = [value[number] for number in self._numbers.tolist()]
            return ListColumn(self._slicing(slices, self._numbers), value)
        raise NotCollatable(
            f"{name!r} is a {type(value).__name__} that PyG puts together by itself"
        )

    def _added(self, field: AddedField, x: Column | None, data: Data) -> Column:
        """The column of a field, or of ``x`` that it is joined to."""
        slicing = self._slicing(field.rows, field.numbers)
        column = (
            TensorColumn(slicing, field.value)
            if isinstance(field.value, Tensor)
            else MappedColumn(slicing, field.value, field.numbers, data.edge_index.device)
        )
        if field.name is not None or x is None:
            return column
        return JoinedColumn(x.slicing, x, column)

    def _slicing(self, slices: Tensor, numbers: Tensor | None) -> Slicing:
        """One for all columns that are cut alike, so that their rows are worked out once."""
        new = Slicing(slices, numbers)
        for slicing in self._slicings:
            if slicing.is_like(new):
                return slicing
        self._slicings.append(new)
        return new

    def _nodes_of_each(self, data: Data) -> Tensor | None:
        """How many nodes each graph has, in PyG's order of looking."""
        if self._counts_in_batch:
            counts = getattr(data._store, "_num_nodes", None)
            if not isinstance(counts, list) or any(type(count) is not int for count in counts):
                raise NotCollatable("num_nodes of the graphs are no integers")
            counts = torch.tensor(counts, dtype=torch.long)
            return counts if self._numbers is None else counts[self._numbers]
        tensors = [name for name in self._names if not isinstance(self._columns[name], ListColumn)]
        telling = [name for name in tensors if name in N_KEYS]
        telling += [name for name in tensors if "node" in name]
        if telling:
            return self._columns[telling[0]].slicing.counts
        if self._has_batch or any(self._columns[name].counts_nodes for name in tensors):
            raise NotCollatable("the graphs don't say how many nodes they have")
        return None


def _counts_nodes(name: str) -> bool:
    """Whether PyG takes an attribute for node numbers."""
    return "index" in name or name == "face"


def _storage_of(dataset: InMemoryDataset) -> tuple[Data, dict[str, Tensor]]:
    """The collated storage of a dataset."""
    name = type(dataset).__name__
    own = [
        method
        for method, base in (("get", InMemoryDataset), ("__getitem__", Dataset))
        if getattr(type(dataset), method) is not getattr(base, method)
    ]
    if own:
        raise NotCollatable(f"{name} has a {own[0]} of its own")
    if dataset.slices is None or dataset.len() < 2:
        raise NotCollatable(f"{name} holds a single graph")
    return dataset._data, dataset.slices


def _collated(graphs: Sequence[Data]) -> tuple[Data, dict[str, Tensor], list[str]]:
    """The collated storage of a list, and the order of attributes in it."""
    if len(graphs) < 2:
        raise NotCollatable("there is nothing to put together of a single graph")
    for number, data in enumerate(graphs):
        if type(data) is not Data:
            raise NotCollatable(f"graph {number} is a {type(data).__name__}")
    names = list(graphs[0]._store)
    for number, data in enumerate(graphs):
        if list(data._store) != names:
            raise NotCollatable(f"graph {number} has other attributes than graph 0")
    if "ptr" in names:
        raise NotCollatable("graph 0 has an attribute 'ptr', which is one of batches")
    first = graphs[0]._store
    if (
        not any(isinstance(first.get(name), Tensor) for name in ("x", "pos"))
        and "num_nodes" not in names
    ):
        # PyG counts nodes by tensors whose name has "node"; put together, numbers would look like one.
        for name in names:
            if "node" in name and isinstance(first[name], int | float):
                raise NotCollatable(f"{name!r} is a number of nodes by its name, but no tensor")
    for name in names:
        kinds = {_kind(name, data._store[name]) for data in graphs}
        if len(kinds) > 1:
            raise NotCollatable(f"{name!r} of one graph is of another kind than that of another")
    data, slices, _ = collate(Data, list(graphs), increment=False, add_batch=False)
    return data, dict(slices), names


def _kind(name: str, value: Any) -> tuple:
    """What values of an attribute must have in common for one storage of them."""
    if type(value) is not Tensor:
        if type(value) is bool and "index" in name:
            raise NotCollatable(f"{name!r} is a bool")
        if isinstance(value, Tensor):
            raise NotCollatable(f"{name!r} is a {type(value).__name__}")
        return (type(value),)
    if value.requires_grad:
        raise NotCollatable(f"{name!r} is learned, so that it may change")
    if value.dim() == 0 or value.layout != torch.strided or value.is_nested:
        return (value.dtype, value.dim(), value.layout, value.device)
    dim = value.dim() - 1 if _counts_nodes(name) else 0
    return (value.dtype, value.device, *value.shape[:dim], None, *value.shape[dim + 1 :])
