"""The rows that a task has: one per graph, per node, or per pair of nodes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphpe.ragged import ragged_arange
from graphpe.tasks import Task

# The columns that tell a row of each level apart from the others of the same graph.
PLACES = {"graph": (), "node": ("node",), "pair": ("source", "target")}


def row_places(task: Task, batch: Batch) -> Tensor:
    """Where each row of a batch is.

    Args:
        task: What is predicted.
        batch: The graphs.

    Returns:
        int64 ``[R, 1 + p]``: the position of the graph in the batch, and then, by ``task.level``, nothing, the node in
        its graph, or the source and the target of the pair; in the order of the rows of ``y``.
    """
    sizes = batch.ptr.diff()
    if task.level == "graph":
        return torch.arange(len(sizes), device=sizes.device).unsqueeze(1)
    graph, node = ragged_arange(sizes)
    if task.level == "node":
        return torch.stack([graph, node], dim=1)
    row, target = ragged_arange(sizes[graph])
    return torch.stack([graph[row], node[row], target], dim=1)
