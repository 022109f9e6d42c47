"""Where graphs, nodes and node pairs lie in a batch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.ragged import offsets_of

# All pairs of nodes of a batch of 128 molecules are about 10⁵.
_MANY_PAIRS = 5 * 10**7


@dataclass(frozen=True)
class GraphLayout:
    """Where the graphs of a batch lie.

    Args:
        batch: ``[N]`` the graph that each node belongs to, ascending.
        ptr: ``[B + 1]`` first node of each graph, and the number of nodes.
    """

    batch: Tensor
    ptr: Tensor

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs, N."""
        return self.batch.numel()

    @property
    def num_graphs(self) -> int:
        """Number of graphs, B; graphs without nodes count."""
        return self.ptr.numel() - 1

    @property
    def sizes(self) -> Tensor:
        """``[B]`` number of nodes of each graph."""
        return self.ptr.diff()


@dataclass(frozen=True)
class NodePairs:
    """All ordered pairs (i, j) of nodes of the same graph, row-major, graph after graph: the rows of a pair field.

    The pairs of a node i lie together: they are the rows ``start[i]`` to ``start[i] + n``, where n is the size of the
    graph of i.

    Args:
        source: ``[P]`` node i of each pair.
        target: ``[P]`` node j of each pair.
        start: ``[N]`` row of the first pair of each node.
    """

    source: Tensor
    target: Tensor
    start: Tensor

    def __len__(self) -> int:
        return self.source.numel()


def graph_layout(data: Data) -> GraphLayout:
    """Reads where the graphs of a batch lie; a ``Data`` without ``batch`` is one graph.

    Args:
        data: A PyG ``Batch`` or ``Data``.

    Raises:
        TypeError: If ``data`` is neither, but a list of graphs, say.
        ValueError: If a batch of several graphs has lost its ``batch`` vector, or if ``batch`` does not fit the nodes
            or ``ptr``, is not sorted or has negative numbers, since nodes would then silently be mixed across graphs.
    """
    if not isinstance(data, Data):
        raise TypeError(
            f"the graphs came as a {type(data).__name__}; give a Data, or for a list of graphs "
            "torch_geometric.data.Batch.from_data_list(graphs)"
        )
    num_nodes = data.num_nodes
    if num_nodes is None:
        raise ValueError(
            "the number of nodes is unknown: the batch has no 'x'; set num_nodes on each graph"
        )
    batch = data.get("batch")
    if batch is None:
        # Only a Batch knows a number of graphs; a Data without one is a single graph.
        num_graphs = getattr(data, "num_graphs", 1)
        if num_graphs > 1:
            raise ValueError(
                f"the batch has {num_graphs} graphs but no 'batch' vector, so their nodes would be mixed; "
                "keep 'batch' as torch_geometric.data.Batch makes it"
            )
        devices = [value.device for value in data.to_dict().values() if torch.is_tensor(value)]
        device = devices[0] if devices else None
        batch = torch.zeros(num_nodes, dtype=torch.long, device=device)
        return GraphLayout(batch, torch.tensor([0, num_nodes], device=device))

    if batch.shape != (num_nodes,):
        raise ValueError(
            f"'batch' has shape {list(batch.shape)}, but there are {num_nodes} nodes; it must be [{num_nodes}]"
        )
    if bool((batch.diff() < 0).any()):
        raise ValueError(
            "'batch' is not sorted, so the nodes of a graph do not lie together; sort the nodes by graph"
        )
    if num_nodes and int(batch[0]) < 0:
        raise ValueError(f"'batch' has the number {int(batch[0])}; number the graphs from 0")
    batch = batch.long()
    given = data.get("ptr")
    # The numbers in `batch` say nothing of graphs without nodes at the end.
    num_graphs = getattr(data, "num_graphs", 0) if given is None else max(given.numel() - 1, 0)
    ptr = offsets_of(torch.bincount(batch, minlength=num_graphs))
    if given is not None and not torch.equal(given, ptr):
        raise ValueError(_describe_contradiction(given, ptr))
    return GraphLayout(batch, ptr)


def _describe_contradiction(given: Tensor, ptr: Tensor) -> str:
    entries = enumerate(zip_longest(given.tolist(), ptr.tolist(), fillvalue="missing"))
    number, got, wanted = next((n, a, b) for n, (a, b) in entries if a != b)
    return (
        f"entry {number} of 'ptr' is {got}, but by 'batch' it is {wanted}; "
        "keep both as torch_geometric.data.Batch makes them"
    )


def node_pairs(layout: GraphLayout) -> NodePairs:
    """Lists all ordered pairs of nodes of the same graph, without padding.

    Args:
        layout: Where the graphs lie.

    Returns:
        Σ nᵢ² pairs, row-major, loops (i, i) included.
    """
    partners = layout.sizes[layout.batch]
    start = offsets_of(partners)
    count = int(start[-1])
    _warn_of_many_pairs(count)
    nodes = torch.arange(len(partners), device=start.device)
    source = torch.repeat_interleave(nodes, partners, output_size=count)
    # Both the row and j count up along the pairs of a node i, so that their difference depends on i alone.
    first_less_start = layout.ptr[layout.batch] - start[:-1]
    target = torch.arange(count, device=start.device) + first_less_start.index_select(0, source)
    return NodePairs(source, target, start[:-1])


def _warn_of_many_pairs(count: int) -> None:
    """Says what all pairs will take before they are made: a large graph would run out of memory without a word."""
    if count < _MANY_PAIRS:
        return
    rounded = float(
        f"{count:.0e}"
    )  # one digit, so that Python shows the warning once per order of size
    warnings.warn(
        f"the batch has about {rounded:,.0f} pairs of nodes, which take {rounded * 4 / 2**30:,.1f} GiB per channel and "
        "layer; use smaller batches, or sparse attention and an encoder without pairs",
        stacklevel=3,
    )
