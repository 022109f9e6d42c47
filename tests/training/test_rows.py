"""The rows of graphs, nodes and pairs are in the order of `y`."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphpe.tasks import Task
from graphpe.training.losses import number_of_rows
from graphpe.training.rows import row_places


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
