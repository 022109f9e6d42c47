"""GraphBatch: many graphs as flat arrays, handed out as dense stacks of equal size.

One graph, a PyG ``Batch``, a list of graphs and a whole collated dataset are the same thing here. Kernels see either a
`Block` (all graphs with the same number of nodes, as one dense stack) or a `LargeGraph` (one sparse graph).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

from graphpe.blocks import Block, LargeGraph, dense_bytes
from graphpe.ragged import offsets_of, ragged_arange
from graphpe.reading import (
    check_counts_of_weights,
    check_edge_index,
    check_single_graph,
    edge_weight_of,
    is_batch,
    nodes_per_graph,
    nodes_per_stored_graph,
    num_nodes_of,
)

# Edges looked at in one go when a batch is validated: bounds the temporaries to a few dozen MiB.
_VALIDATION_CHUNK = 1 << 19

# Between these, sums of weights neither overflow nor lose their digits.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


class GraphBatch:
    """Many graphs as flat arrays.

    Args:
        edge_index: ``[2, E]`` integer node numbers, *local* to each graph (0 .. n-1). Row = source.
        num_nodes: ``[B]`` number of nodes of each graph.
        edge_start: ``[B]`` first column of each graph in ``edge_index``.
        edge_count: ``[B]`` number of edges of each graph.
        edge_weight: ``[E]`` non-negative weights, or None for an unweighted batch.
        edge_order: ``[E]`` for each column of ``edge_index`` its position in the caller's edge list; None if equal.
        first: What messages call graph 0: where these graphs are a part of a dataset, its number there.

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
        first: int = 0,
    ) -> None:
        self.edge_index = edge_index
        self.edge_weight = edge_weight
        self.edge_order = edge_order
        self.first = first
        # Sizes stay on the CPU: they steer the loop over blocks.
        self.num_nodes = num_nodes.cpu()
        self.edge_start = edge_start.cpu()
        self.edge_count = edge_count.cpu()
        self.ptr = offsets_of(self.num_nodes)
        check_edge_index(Data(edge_index=edge_index))
        self._validate()

    # --- construction ----------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, graphs: Data | Batch | Sequence[Data] | InMemoryDataset) -> GraphBatch:
        """The graphs of a ``Data``, a ``Batch``, a list of ``Data`` or an ``InMemoryDataset``."""
        if isinstance(graphs, Data | HeteroData):
            several = isinstance(graphs, Data) and is_batch(graphs)
            return cls.from_batch(graphs) if several else cls.from_data(graphs)
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
    def from_list(cls, graphs: Sequence[Data], first: int = 0) -> GraphBatch:
        """A list of single graphs.

        Args:
            graphs: The graphs.
            first: What messages call the first of them.
        """
        if len(graphs) == 0:
            raise ValueError("got an empty list of graphs; give at least one graph")
        for number, data in enumerate(graphs, start=first):
            check_single_graph(data, number)
        weights = [edge_weight_of(data) for data in graphs]
        weighted = [weight is not None for weight in weights]
        if any(weighted) and not all(weighted):
            raise ValueError(
                f"graph {first + weighted.index(False)} has no edge_weight but graph {first + weighted.index(True)} "
                "has; give weights to all graphs or to none"
            )
        counts = torch.tensor([data.edge_index.shape[1] for data in graphs])
        return cls(
            edge_index=_concatenate([data.edge_index for data in graphs], dim=1),
            num_nodes=torch.tensor(
                [num_nodes_of(data, number) for number, data in enumerate(graphs, start=first)]
            ),
            edge_start=offsets_of(counts)[:-1],
            edge_count=counts,
            edge_weight=_concatenate(weights) if all(weighted) else None,
            first=first,
        )

    @classmethod
    def from_batch(cls, batch: Data) -> GraphBatch:
        """The graphs of a PyG ``Batch``, or of a ``Data`` with a ``batch`` vector."""
        check_edge_index(batch)
        check_counts_of_weights(getattr(batch, "_slice_dict", {}))
        num_nodes = nodes_per_graph(batch)
        ptr = offsets_of(num_nodes).to(batch.edge_index.device)
        source, target = batch.edge_index
        outside = (batch.edge_index < 0) | (batch.edge_index >= ptr[-1])
        if bool(outside.any()):
            wrong = int(outside.any(dim=0).nonzero()[0])
            raise ValueError(
                f"edge_index: edge {wrong} of the batch is {batch.edge_index[:, wrong].tolist()}, but the batch has "
                f"nodes 0 to {int(ptr[-1]) - 1}"
            )
        graph = torch.searchsorted(ptr, source.contiguous(), right=True) - 1
        other = torch.searchsorted(ptr, target.contiguous(), right=True) - 1
        if bool((graph != other).any()):
            wrong = int((graph != other).nonzero()[0])
            raise ValueError(
                f"edge_index: edge {wrong} of the batch, {batch.edge_index[:, wrong].tolist()}, joins graph "
                f"{int(graph[wrong])} and graph {int(other[wrong])}; edges must stay within a graph"
            )
        weight = edge_weight_of(batch)
        edge_order = None
        if bool((graph.diff() < 0).any()):  # edges were shuffled after batching
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
    def from_dataset(cls, dataset: InMemoryDataset, first: int = 0) -> GraphBatch:
        """The graphs of an ``InMemoryDataset`` read from its collated storage, without one ``Data`` per graph.

        Args:
            dataset: The dataset.
            first: What messages call its first graph.
        """
        if len(dataset) == 0:
            raise ValueError("got an empty dataset; give at least one graph")
        storage = dataset._data
        if isinstance(storage, HeteroData):
            raise TypeError("got a dataset of HeteroData; graphpe encodes homogeneous graphs")
        if dataset.slices is None:  # PyG keeps a dataset of one graph uncollated
            return cls.from_list([storage for _ in dataset.indices()], first)
        if is_batch(storage):
            raise ValueError("the graphs of the dataset are batches of graphs; store single graphs")
        check_edge_index(storage)
        check_counts_of_weights(dataset.slices)
        slices = dataset.slices["edge_index"]
        chosen = None if dataset._indices is None else torch.as_tensor(list(dataset._indices))
        counts = slices.diff()
        num_nodes = nodes_per_stored_graph(dataset)
        return cls(
            edge_index=storage.edge_index,
            num_nodes=num_nodes if chosen is None else num_nodes[chosen],
            edge_start=slices[:-1] if chosen is None else slices[chosen],
            edge_count=counts if chosen is None else counts[chosen],
            edge_weight=edge_weight_of(storage),
            first=first,
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

    @cached_property
    def graph_ptr(self) -> Tensor:
        """``[B+1]`` offsets of the graphs in a graph-level field."""
        return torch.arange(len(self) + 1)

    def rows(self, level: str) -> Tensor:
        """``[B+1]`` offsets of the graphs in a field of a level ("node", "edge", "pair" or "graph")."""
        pointers = {"node": "ptr", "edge": "edge_ptr", "pair": "pair_ptr", "graph": "graph_ptr"}
        return getattr(self, pointers[level])

    # --- parts -----------------------------------------------------------------------------------------------------

    def name(self, number: int | Tensor) -> str:
        """How messages call a graph, given by its number in the batch."""
        return f"graph {self.first + int(number)}"

    def part(self, start: int, stop: int) -> GraphBatch:
        """The graphs from ``start`` to before ``stop``, which messages call by their numbers in the whole.

        Where the graphs lie one after the other the edges are a view of those of the whole. Edge-level values of the
        parts, one after the other, are in the order of ``edge_index``, not in that of the caller's edge list.
        """
        starts, counts = self.edge_start[start:stop], self.edge_count[start:stop]
        edges = slice(None)
        if start < stop and torch.equal(starts - starts[0], offsets_of(counts)[:-1]):
            edges = slice(int(starts[0]), int(starts[-1] + counts[-1]))
            starts = starts - starts[0]
        return GraphBatch(
            self.edge_index[:, edges],
            self.num_nodes[start:stop],
            starts,
            counts,
            None if self.edge_weight is None else self.edge_weight[edges],
            first=self.first + start,
        )

    def to(self, device: torch.device | str | None) -> GraphBatch:
        """The same graphs with their edges on another device; None leaves them where they are."""
        if device is None or torch.device(device) == self.device:
            return self
        return GraphBatch(
            self.edge_index.to(device),
            self.num_nodes,
            self.edge_start,
            self.edge_count,
            None if self.edge_weight is None else self.edge_weight.to(device),
            None if self.edge_order is None else self.edge_order.to(device),
            self.first,
        )

    # --- what kernels see ------------------------------------------------------------------------------------------

    def blocks(
        self,
        dense_limit: int,
        memory_budget: int,
        bytes_per_graph: Callable[[int], int] = dense_bytes,
    ) -> Iterator[Block]:
        """Dense stacks of equal-size graphs with at most ``dense_limit`` nodes.

        Args:
            dense_limit: Largest number of nodes of a graph that is handled densely.
            memory_budget: Bytes that one block, work space included, may take.
            bytes_per_graph: What a graph of n nodes takes of them.

        Raises:
            ValueError: If one graph alone is over the budget.
        """
        order = torch.argsort(self.num_nodes, stable=True)
        sizes, counts = torch.unique_consecutive(self.num_nodes[order], return_counts=True)
        # The largest first: they take longest, and at the end threads would wait for them.
        stop = len(order)
        for n, count in zip(sizes.flip(0).tolist(), counts.flip(0).tolist(), strict=True):
            start, stop = stop - count, stop - count
            if n > dense_limit:
                continue
            needed = bytes_per_graph(n)
            if needed > memory_budget:
                raise ValueError(
                    f"{self.name(order[start])} has {n:,} nodes and needs {in_words(needed)} as a dense matrix, "
                    f"over the memory budget of {in_words(memory_budget)}; raise memory_budget, or give "
                    "fewer encodings at once"
                )
            for chunk in order[start : start + count].split(memory_budget // needed):
                yield Block(self, chunk, n)

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
        # Only a subset of a dataset has its edges scattered; a slice needs no index and no copy.
        contiguous = torch.equal(self.edge_start, self.edge_ptr[:-1])
        for numbers in torch.arange(len(self)).split(graphs_per_chunk):
            slot = torch.repeat_interleave(self.edge_count[numbers]).to(self.device)
            limit = self.num_nodes[numbers].to(self.device)[slot]
            column = (
                slice(int(self.edge_ptr[numbers[0]]), int(self.edge_ptr[numbers[-1] + 1]))
                if contiguous
                else self.edges_of(numbers)[1]
            )
            ends = self.edge_index[:, column]
            outside = (ends < 0) | (ends >= limit)
            if bool(outside.any()):
                edge = int(outside.any(dim=0).nonzero()[0])
                raise ValueError(
                    f"edge_index of {self.name(numbers[slot[edge]])} has the edge {ends[:, edge].tolist()}, "
                    f"but its nodes are 0 to {int(limit[edge]) - 1}; "
                    "correct edge_index, or set num_nodes if the graph has more nodes"
                )
            if self.edge_weight is None:
                continue
            weight = self.edge_weight[column].double()
            allowed = (weight == 0) | ((weight >= _LEAST_WEIGHT) & (weight <= _LARGEST_WEIGHT))
            if not bool(allowed.all()):
                edge = int((~allowed).nonzero()[0])
                raise ValueError(
                    f"edge_weight of {self.name(numbers[slot[edge]])} is {float(weight[edge])} at the edge "
                    f"{ends[:, edge].tolist()}; weights must be 0 or between {_LEAST_WEIGHT:g} and "
                    f"{_LARGEST_WEIGHT:g}"
                )


def _concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors), dim=dim)


def in_words(size: int) -> str:
    """A number of bytes, for messages."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
