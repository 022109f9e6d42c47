"""The rows of graphs, nodes and pairs are in the order of `y`."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphpe.tasks import Task, TaskLevel
from graphpe.training.rows import number_of_graphs, number_of_rows, row_places


def _batch(*sizes: int) -> Batch:
    graphs = [Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=n) for n in sizes]
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("sizes", [(2, 0, 3), (1,), (0,), (0, 1, 0)])
def test_places(sizes: tuple[int, ...]) -> None:
    wanted = {
        "graph": [[g] for g in range(len(sizes))],
        "node": [[g, v] for g, n in enumerate(sizes) for v in range(n)],
        "pair": [[g, u, v] for g, n in enumerate(sizes) for u in range(n) for v in range(n)],
    }
    for level, places in wanted.items():
        task = Task(kind="regression", metric="mae", level=level)
        assert row_places(task, _batch(*sizes)).tolist() == places
        assert number_of_rows(task, _batch(*sizes)) == len(places)


@pytest.mark.parametrize("level", ["graph", "node", "pair"])
def test_a_graph_without_a_batch_and_a_batch_without_ptr(level: TaskLevel) -> None:
    """The networks take both."""
    task = Task(kind="regression", metric="mae", level=level)
    batch = _batch(3)
    (graph,) = batch.to_data_list()
    assert row_places(task, graph).tolist() == row_places(task, batch).tolist()
    assert number_of_rows(task, graph) == number_of_rows(task, batch)
    assert number_of_graphs(graph) == 1

    batch = _batch(2, 3)
    stripped = Data(edge_index=batch.edge_index, batch=batch.batch, num_nodes=5)
    assert row_places(task, stripped).tolist() == row_places(task, batch).tolist()
    assert number_of_rows(task, stripped) == number_of_rows(task, batch)
    assert number_of_graphs(stripped) == 2
