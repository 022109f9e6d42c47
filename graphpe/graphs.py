"""GraphBatch: many graphs as flat arrays, handed out as dense stacks of equal size.

One graph, a PyG ``Batch``, a list of graphs and a whole collated dataset are the same thing here. Kernels see either a
`Block` (all graphs with the same number of nodes, as one dense stack) or a `LargeGraph` (one sparse graph).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.data.storage import N_KEYS

from graphpe.blocks import Block, LargeGraph, dense_bytes
from graphpe.ragged import offsets_of, ragged_arange

# Edges looked at in one go when a batch is validated: bounds the temporaries to a few dozen MiB.
_VALIDATION_CHUNK = 1 << 19


class GraphBatch:
    """Many graphs as flat arrays.

    Args:
        edge_index: ``[2, E]`` integer node numbers, *local* to each graph (0 .. n-1). Row = source.
        num_nodes: ``[B]`` number of nodes of each graph.
        edge_start: ``[B]`` first column of each graph in ``edge_index``.
        edge_count: ``[B]`` number of edges of each graph.
        edge_weight: ``[E]`` non-negative weights, or None for an unweighted batch.
        edge_order: ``[E]`` for each column of ``edge_index`` its position in the caller's edge list; None if equal.

    Raises:
        TypeError, ValueError: If node numbers are not integers or out of range, or a weight is negative or not
            finite; the message names the graph.
    """

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: Tensor,
        edge_start: Tensor,
        edge_count: Tensor,
        edge_weight: Tensor | None = None,
        edge_order: Tensor | None = None,
    ) -> None:
        self.edge_index = edge_index
        self.edge_weight = edge_weight
        self.edge_order = edge_order
        # Sizes stay on the CPU: they steer the loop over blocks.
        self.num_nodes = num_nodes.cpu()
        self.edge_start = edge_start.cpu()
        self.edge_count = edge_count.cpu()
        self.ptr = offsets_of(self.num_nodes)
        self._validate()

    # --- construction ----------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, graphs: Data | Batch | Sequence[Data] | InMemoryDataset) -> GraphBatch:
        """The graphs of a ``Data``, a ``Batch``, a list of ``Data`` or an ``InMemoryDataset``."""
        if isinstance(graphs, HeteroData):
            raise TypeError(
                "got a HeteroData; graphpe encodes homogeneous graphs: call data.to_homogeneous() first"
            )
        if isinstance(graphs, Data):
            is_batch = isinstance(graphs, Batch) or isinstance(graphs.get("batch"), Tensor)
            return cls.from_batch(graphs) if is_batch else cls.from_data(graphs)
        if isinstance(graphs, InMemoryDataset):
            return cls.from_dataset(graphs)
        if isinstance(graphs, Sequence) and not isinstance(graphs, str):
            return cls.from_list(graphs)
        raise TypeError(
            f"got {type(graphs).__name__}; wanted a torch_geometric Data, Batch, InMemoryDataset or list of Data"
        )

    @classmethod
    def from_data(cls, data: Data) -> GraphBatch:
        """One graph."""
        return cls.from_list([data])

    @classmethod
    def from_list(cls, graphs: Sequence[Data]) -> GraphBatch:
        """A list of single graphs."""
        if len(graphs) == 0:
            raise ValueError("got an empty list of graphs; give at least one graph")
        for number, data in enumerate(graphs):
            if not isinstance(data, Data):
                raise TypeError(
                    f"graph {number} is a {type(data).__name__}; wanted a torch_geometric Data"
                )
            if data.edge_index is None:
                raise ValueError(
                    f"graph {number} has no edge_index; for a graph without edges set "
                    "edge_index=torch.empty(2, 0, dtype=torch.long)"
                )
            _check_edge_index(data.edge_index, number)
        weights = [data.get("edge_weight") for data in graphs]
        weighted = [weight is not None for weight in weights]
        if any(weighted) and not all(weighted):
            raise ValueError(
                f"graph {weighted.index(False)} has no edge_weight but graph {weighted.index(True)} has; "
                "give weights to all graphs or to none"
            )
        counts = torch.tensor([data.edge_index.shape[1] for data in graphs])
        return cls(
            edge_index=_concatenate([data.edge_index for data in graphs], dim=1),
            num_nodes=torch.tensor([_num_nodes(data) for data in graphs]),
            edge_start=offsets_of(counts)[:-1],
            edge_count=counts,
            edge_weight=_concatenate([_flat_weight(w) for w in weights]) if any(weighted) else None,
        )

    @classmethod
    def from_batch(cls, batch: Data) -> GraphBatch:
        """The graphs of a PyG ``Batch``, or of a ``Data`` with a ``batch`` vector."""
        if batch.edge_index is None:
            raise ValueError("the batch has no edge_index")
        _check_edge_index(batch.edge_index, None)
        num_nodes = _nodes_per_graph(batch)
        ptr = offsets_of(num_nodes).to(batch.edge_index.device)
        source, target = batch.edge_index
        if source.numel() and not bool(((source >= 0) & (source < ptr[-1])).all()):
            wrong = int(((source < 0) | (source >= ptr[-1])).nonzero()[0])
            raise ValueError(
                f"edge_index: edge {wrong} of the batch starts at node {int(source[wrong])}, but the batch has "
                f"nodes 0 to {int(ptr[-1]) - 1}"
            )
        graph = torch.searchsorted(ptr, source, right=True) - 1
        weight = batch.get("edge_weight")
        weight = None if weight is None else _flat_weight(weight)
        edge_order = None
        if graph.numel() and bool(
            (graph[1:] < graph[:-1]).any()
        ):  # edges were shuffled after batching
            edge_order = torch.argsort(graph, stable=True)
            graph, source, target = graph[edge_order], source[edge_order], target[edge_order]
            weight = None if weight is None else weight[edge_order]
        counts = torch.bincount(graph, minlength=len(num_nodes)).cpu()
        return cls(
            edge_index=torch.stack([source, target]) - ptr[graph],
            num_nodes=num_nodes,
            edge_start=offsets_of(counts)[:-1],
            edge_count=counts,
            edge_weight=weight,
            edge_order=edge_order,
        )

    @classmethod
    def from_dataset(cls, dataset: InMemoryDataset) -> GraphBatch:
        """The graphs of an ``InMemoryDataset`` read from its collated storage, without one ``Data`` per graph."""
        if len(dataset) == 0:
            raise ValueError("got an empty dataset; give at least one graph")
        storage = dataset._data
        if isinstance(storage, HeteroData):
            raise TypeError("got a dataset of HeteroData; graphpe encodes homogeneous graphs")
        if dataset.slices is None:  # PyG keeps a dataset of one graph uncollated
            return cls.from_data(storage)
        if storage.edge_index is None:
            raise ValueError("the graphs of the dataset have no edge_index")
        _check_edge_index(storage.edge_index, None)
        slices = dataset.slices["edge_index"]
        chosen = None if dataset._indices is None else torch.as_tensor(list(dataset._indices))
        counts = slices.diff()
        weight = storage.get("edge_weight")
        num_nodes = _nodes_per_stored_graph(dataset)
        return cls(
            edge_index=storage.edge_index,
            num_nodes=num_nodes if chosen is None else num_nodes[chosen],
            edge_start=slices[:-1] if chosen is None else slices[chosen],
            edge_count=counts if chosen is None else counts[chosen],
            edge_weight=None if weight is None else _flat_weight(weight),
        )

    # --- sizes -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.num_nodes)

    def __repr__(self) -> str:
        return f"GraphBatch(graphs={len(self)}, nodes={int(self.ptr[-1])}, edges={int(self.edge_count.sum())})"

    @property
    def device(self) -> torch.device:
        return self.edge_index.device

    @cached_property
    def edge_ptr(self) -> Tensor:
        """``[B+1]`` offsets of the graphs in an edge-level field."""
        return offsets_of(self.edge_count)

    @cached_property
    def pair_ptr(self) -> Tensor:
        """``[B+1]`` offsets of the graphs in a pair-level field."""
        return offsets_of(self.num_nodes**2)

    def rows(self, level: str) -> Tensor:
        """``[B+1]`` offsets of the graphs in a field of a level ("node", "edge", "pair" or "graph")."""
        if level == "graph":
            return torch.arange(len(self) + 1)
        return {"node": self.ptr, "edge": self.edge_ptr, "pair": self.pair_ptr}[level]

    # --- what kernels see ------------------------------------------------------------------------------------------

    def blocks(self, dense_limit: int, memory_budget: int) -> Iterator[Block]:
        """Dense stacks of equal-size graphs with at most ``dense_limit`` nodes.

        Args:
            dense_limit: Largest number of nodes of a graph that is handled densely.
            memory_budget: Bytes that the float64 matrices of one block, work space included, may take.

        Raises:
            ValueError: If one graph alone is over the budget.
        """
        order = torch.argsort(self.num_nodes, stable=True)
        sizes, counts = torch.unique_consecutive(self.num_nodes[order], return_counts=True)
        start = 0
        for n, count in zip(sizes.tolist(), counts.tolist(), strict=True):
            if n > dense_limit:
                return
            bytes_per_graph = dense_bytes(n)
            if bytes_per_graph > memory_budget:
                raise ValueError(
                    f"graph {int(order[start])} has {n:,} nodes and needs {_mib(bytes_per_graph)} as a dense matrix, "
                    f"over the memory budget of {_mib(memory_budget)}; raise memory_budget or lower dense_limit"
                )
            for chunk in order[start : start + count].split(memory_budget // bytes_per_graph):
                yield Block(self, chunk, n)
            start += count

    def large(self, dense_limit: int, memory_budget: int) -> list[LargeGraph]:
        """The graphs with more than ``dense_limit`` nodes, one by one."""
        return [
            LargeGraph(self, number, memory_budget)
            for number in (self.num_nodes > dense_limit).nonzero().flatten().tolist()
        ]

    def edges_of(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Edges of some graphs.

        Args:
            numbers: ``[b]`` graph numbers.

        Returns:
            ``slot [e]``, which of the ``b`` graphs each edge belongs to, and ``column [e]``, its column in
            ``edge_index``; both on the device of the edges.
        """
        slot, offset = ragged_arange(self.edge_count[numbers])
        column = self.edge_start[numbers][slot] + offset
        return slot.to(self.device), column.to(self.device)

    # --- validation ------------------------------------------------------------------------------------------------

    def _validate(self) -> None:
        if self.edge_weight is not None and len(self.edge_weight) != self.edge_index.shape[1]:
            raise ValueError(
                f"edge_weight has {len(self.edge_weight)} entries for {self.edge_index.shape[1]} edges; "
                "give one weight per edge"
            )
        graphs_per_chunk = max(
            1, _VALIDATION_CHUNK * len(self) // max(1, int(self.edge_count.sum()))
        )
        for numbers in torch.arange(len(self)).split(graphs_per_chunk):
            slot, column = self.edges_of(numbers)
            limit = self.num_nodes[numbers].to(self.device)[slot]
            ends = self.edge_index[:, column]
            outside = ((ends < 0) | (ends >= limit)).any(dim=0)
            if bool(outside.any()):
                edge = int(outside.nonzero()[0])
                raise ValueError(
                    f"edge_index of graph {int(numbers[slot[edge]])} has the edge {ends[:, edge].tolist()}, "
                    f"but its nodes are 0 to {int(limit[edge]) - 1}; "
                    "correct edge_index, or set num_nodes if the graph has more nodes"
                )
            if self.edge_weight is None:
                continue
            weight = self.edge_weight[column]
            for wrong, what in ((~torch.isfinite(weight), "not finite"), (weight < 0, "negative")):
                if bool(wrong.any()):
                    edge = int(wrong.nonzero()[0])
                    raise ValueError(
                        f"edge_weight of graph {int(numbers[slot[edge]])} is {what} "
                        f"({float(weight[edge])}) at the edge {ends[:, edge].tolist()}; "
                        "encodings need finite weights >= 0"
                    )


def _concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim=dim)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def _where(number: int | None) -> str:
    return "" if number is None else f" of graph {number}"


def _check_edge_index(edge_index: Any, number: int | None) -> None:
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        got = (
            tuple(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        )
        raise ValueError(
            f"edge_index{_where(number)} is {got}; wanted an integer tensor of shape [2, E]"
        )
    if edge_index.dtype.is_floating_point or edge_index.dtype in (torch.bool, torch.complex64):
        raise TypeError(
            f"edge_index{_where(number)} has dtype {edge_index.dtype}; node numbers must be integers: "
            "use edge_index.long()"
        )


def _flat_weight(weight: Tensor) -> Tensor:
    if weight.dim() == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.dim() != 1 or weight.is_complex():
        raise ValueError(
            f"edge_weight has shape {tuple(weight.shape)} and dtype {weight.dtype}; "
            "wanted one real number per edge"
        )
    return weight


def _num_nodes(data: Data) -> int:
    """Number of nodes as PyG counts them, which warns where only the edges tell."""
    return int(data.num_nodes or 0)


def _nodes_per_graph(batch: Data) -> Tensor:
    """``[B]`` from ``ptr`` or the ``batch`` vector."""
    total = _num_nodes(batch)
    ptr, assignment = batch.get("ptr"), batch.get("batch")
    if ptr is not None:
        if int(ptr[-1]) != total:
            raise ValueError(
                f"the batch has {total} nodes but its ptr ends at {int(ptr[-1])}: nodes were added or removed after "
                "batching; encode the graphs before batching, or rebuild the batch"
            )
        return ptr.diff().cpu()
    if assignment is None:
        raise ValueError(
            "the Batch has neither ptr nor a batch vector, so its graphs cannot be told apart; "
            "make it with Batch.from_data_list"
        )
    if assignment.numel() != total or bool((assignment[1:] < assignment[:-1]).any()):
        raise ValueError(
            f"batch must hold one graph number per node ({total}), in ascending order; "
            f"got {assignment.numel()} numbers"
        )
    return torch.bincount(assignment, minlength=int(getattr(batch, "num_graphs", 1))).cpu()


def _nodes_per_stored_graph(dataset: InMemoryDataset) -> Tensor:
    """``[number of stored graphs]``, by the same rules as ``dataset[i].num_nodes``."""
    storage, slices = dataset._data, dataset.slices
    explicit = getattr(storage, "_num_nodes", None)
    if explicit is not None:
        return torch.as_tensor(explicit).flatten().long()
    if "num_nodes" in slices:
        return storage["num_nodes"].flatten().long()
    for key in slices:
        if key in N_KEYS or "node" in key:
            return slices[key].diff().long()
    # Only the edges tell: ask PyG graph by graph, which warns about isolated nodes at the end.
    return torch.tensor([_num_nodes(copy.copy(dataset.get(i))) for i in range(dataset.len())])
