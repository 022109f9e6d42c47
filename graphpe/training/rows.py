"""The rows that a task has: one per graph, per node, or per pair of nodes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.ragged import ragged_arange
from graphpe.tasks import Task

# The columns that tell a row of each level apart from the others of the same graph.
PLACES = {"graph": (), "node": ("node",), "pair": ("source_node", "target_node")}


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
    return int(graph_layout(batch).sizes.square().sum())


def row_places(task: Task, batch: Data) -> Tensor:
    """Where each row of a batch is.

    Args:
        task: What is predicted.
        batch: The graphs, as the networks take them: a ``Batch``, or a ``Data`` with or without ``batch``.

    Returns:
        int64 ``[R, 1 + p]``: the position of the graph in the batch, and then, by ``task.level``, nothing, the node in
        its graph, or the source and the target of the pair; in the order of the rows of ``y``.
    """
    sizes = graph_layout(batch).sizes
    if task.level == "graph":
        return torch.arange(len(sizes), device=sizes.device).unsqueeze(1)
    graph, node = ragged_arange(sizes)
    if task.level == "node":
        return torch.stack([graph, node], dim=1)
    row, target = ragged_arange(sizes[graph])
    return torch.stack([graph[row], node[row], target], dim=1)
