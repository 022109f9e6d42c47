"""The rows of graphs, nodes, edges and pairs are in the order of `y`."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphpe.tasks import Task, TaskLevel
from graphpe.training.rows import (
    labelled_rows,
    number_of_graphs,
    number_of_rows,
    row_graphs,
    row_places,
)


def _batch(*sizes: int) -> Batch:
    graphs = []
    for n in sizes:
        loops = torch.arange(n).expand(2, n)
        graphs.append(Data(edge_index=loops, num_nodes=n))
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("sizes", [(2, 0, 3), (1,), (0,), (0, 1, 0)])
def test_places(sizes: tuple[int, ...]) -> None:
    wanted = {
        "graph": [[g] for g in range(len(sizes))],
        "node": [[g, v] for g, n in enumerate(sizes) for v in range(n)],
        "edge": [[g, v, v, v] for g, n in enumerate(sizes) for v in range(n)],
        "pair": [[g, u, v] for g, n in enumerate(sizes) for u in range(n) for v in range(n)],
    }
    for level, places in wanted.items():
        task = Task(kind="regression", metric="mae", level=level)
        assert row_places(task, _batch(*sizes)).tolist() == places
        assert row_graphs(task, _batch(*sizes)).tolist() == [place[0] for place in places]
        assert number_of_rows(task, _batch(*sizes)) == len(places)


def test_places_of_edges() -> None:
    """Of a graph without edges, of parallel ones and loops, and of loops added to a batch at its end."""
    edges = [[(1, 0), (0, 1), (1, 0)], [], [(2, 2), (0, 2)]]
    graphs = [
        Data(edge_index=torch.tensor(e, dtype=torch.long).view(-1, 2).T, num_nodes=3) for e in edges
    ]
    task = Task(kind="regression", metric="mae", level="edge")
    batch = Batch.from_data_list(graphs)
    wanted = [[g, i, *nodes] for g, graph in enumerate(edges) for i, nodes in enumerate(graph)]
    assert row_places(task, batch).tolist() == wanted
    assert number_of_rows(task, batch) == 5

    loops = torch.tensor([[4, 0], [4, 0]])
    batch.edge_index = torch.cat([batch.edge_index, loops], dim=1)
    assert row_places(task, batch).tolist() == [*wanted, [1, 0, 1, 1], [0, 3, 0, 0]]
    assert row_graphs(task, batch).tolist() == [0, 0, 0, 2, 2, 1, 0]

    batch.edge_index = torch.tensor([[0], [5]])
    for count in (row_places, number_of_rows):
        with pytest.raises(ValueError, match="edge 0 of 'edge_index' joins node 0 of graph 0"):
            count(task, batch)
    del batch.edge_index
    with pytest.raises(ValueError, match="the batch has no 'edge_index'"):
        number_of_rows(task, batch)


def test_labelled_rows() -> None:
    nan = float("nan")
    target = torch.tensor([[nan, nan], [0.0, nan], [nan, nan], [1.0, 1.0]])
    for level in ("node", "edge", "pair"):
        task = Task(kind="regression", metric="mae", num_targets=2, level=level)
        assert labelled_rows(task, target).tolist() == [1, 3]
        assert labelled_rows(task, target[1::2]) is None
        assert labelled_rows(task, target[::2]).tolist() == []
        assert labelled_rows(task, target[:0]) is None
    assert labelled_rows(Task(kind="regression", metric="mae", num_targets=2), target) is None


@pytest.mark.parametrize("level", ["graph", "node", "edge", "pair"])
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
