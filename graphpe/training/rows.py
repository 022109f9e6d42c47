"""The rows that a task has: one per graph, per node, per edge, or per pair of nodes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.nn.edges import read_edges
from graphpe.nn.layout import GraphLayout
from graphpe.ragged import offsets_of, ragged_arange
from graphpe.tasks import Task, TaskLevel

# The columns that tell a row of each level apart from the others of the same graph. The nodes of an edge come after its
# number, so that rows in the order of their places are in the order of `edge_index`.
PLACES: dict[TaskLevel, tuple[str, ...]] = {
    "graph": (),
    "node": ("node",),
    "edge": ("edge", "source_node", "target_node"),
    "pair": ("source_node", "target_node"),
}


def number_of_graphs(batch: Data) -> int:
    """How many graphs a batch has; a ``Data`` without ``batch`` is one graph."""
    # The layout looks at the numbers, which a batch on a device need not wait for.
    return batch.num_graphs if isinstance(batch, Batch) else graph_layout(batch).num_graphs


def number_of_rows(task: Task, batch: Data) -> int:
    """How many rows the graphs of a batch have."""
    if task.level == "graph":
        return number_of_graphs(batch)
    if task.level == "node":
        return int(batch.num_nodes)
    if task.level == "edge":
        return read_edges(batch, graph_layout(batch)).size(1)
    return int(graph_layout(batch).sizes.square().sum())


def labelled_rows(task: Task, target: Tensor) -> Tensor | None:
    """The rows that count in the loss and the metric.

    Args:
        task: What is predicted.
        target: ``[R, num_targets]`` targets, NaN where a label is missing.

    Returns:
        int64 ``[S]`` the rows with a label; None, for all rows, if each has one or a row is a graph.
    """
    if task.level == "graph":
        return None
    rows = (~target.isnan().all(dim=1)).nonzero().squeeze(1)
    return None if len(rows) == len(target) else rows


def row_graphs(task: Task, batch: Data) -> Tensor:
    """The position in the batch of the graph of each row, int64 ``[R]``."""
    layout = graph_layout(batch)
    if task.level == "node":
        return layout.batch
    if task.level == "edge":
        return layout.batch[read_edges(batch, layout)[0]]
    graphs = torch.arange(layout.num_graphs, device=layout.ptr.device)
    return graphs if task.level == "graph" else graphs.repeat_interleave(layout.sizes.square())


def row_places(task: Task, batch: Data) -> Tensor:
    """Where each row of a batch is.

    Args:
        task: What is predicted.
        batch: The graphs, as the networks take them: a ``Batch``, or a ``Data`` with or without ``batch``.

    Returns:
        int64 ``[R, 1 + p]``: the position of the graph in the batch, and then, by ``task.level``, nothing; the node in
        its graph; the number of the edge among those of its graph, its source and its target; or the source and the
        target of the pair; in the order of the rows of ``y``.
    """
    layout = graph_layout(batch)
    if task.level == "graph":
        return torch.arange(layout.num_graphs, device=layout.ptr.device).unsqueeze(1)
    if task.level == "edge":
        return _edge_places(read_edges(batch, layout), layout)
    graph, node = ragged_arange(layout.sizes)
    if task.level == "node":
        return torch.stack([graph, node], dim=1)
    row, target = ragged_arange(layout.sizes[graph])
    return torch.stack([graph[row], node[row], target], dim=1)


def _edge_places(edge_index: Tensor, layout: GraphLayout) -> Tensor:
    graph = layout.batch[edge_index[0]]
    # The edges of a graph need not lie together: loops, say, may have been added to a batch at its end.
    by_graph = graph.argsort(stable=True)
    first = offsets_of(torch.bincount(graph, minlength=layout.num_graphs))[:-1]
    number = torch.empty_like(graph)
    number[by_graph] = torch.arange(len(graph), device=graph.device) - first[graph[by_graph]]
    source, target = edge_index - layout.ptr[graph]
    return torch.stack([graph, number, source, target], dim=1)
