"""The edges of a batch, read for what looks up pairs of nodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn.edges import read_edges
from graphpe.nn.layout import graph_layout


def batch_with(edge_index: Tensor | None) -> Batch:
    """Graphs of 2, 0 and 3 nodes with the edges given."""
    none = torch.zeros(2, 0, dtype=torch.long)
    batch = Batch.from_data_list([Data(num_nodes=n, edge_index=none) for n in (2, 0, 3)])
    batch.edge_index = edge_index
    return batch


def read(batch: Batch) -> Tensor:
    return read_edges(batch, graph_layout(batch))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("edges", [[[], []], [[1, 1, 0, 4, 2], [0, 0, 0, 2, 2]]])
def test_edges_inside_graphs(edges: list, dtype: torch.dtype) -> None:
    """Loops and parallel edges are edges."""
    got = read(batch_with(torch.tensor(edges, dtype=dtype)))
    assert torch.equal(got, torch.tensor(edges, dtype=torch.long))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (torch.tensor([[1, 4], [0, 1]]), "edge 1 of 'edge_index' joins node 4 of graph 2 and node"),
        (torch.tensor([[5], [2]]), "'edge_index' has node 5, but the batch has 5 nodes"),
        (torch.tensor([[1], [-1]]), "'edge_index' has node -1, but the batch has 5 nodes"),
        (torch.tensor([[1.0], [0.0]]), r"'edge_index' is \[2, 1\] of float32; .* int64"),
        (torch.tensor([[True], [False]]), r"'edge_index' is \[2, 1\] of bool"),
        (torch.tensor([[1, 0]]), r"'edge_index' is \[1, 2\] of int64; it must be \[2, edges\]"),
        (torch.tensor([1, 0]), r"'edge_index' is \[2\] of int64"),
        (None, "the batch has no 'edge_index'"),
    ],
)
def test_others_are_refused(edges: Tensor | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(batch_with(edges))
