"""Ragged columns of nodes."""

from __future__ import annotations

import torch
from graph_zoo import zoo
from hypothesis import given
from hypothesis import strategies as st
from nn_batches import largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn.columns import node_columns
from graphpe.nn.layout import graph_layout
from graphpe.nn.pairs.pair_networks import PairGIN


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=6))
def test_rows_are_those_of_loops(graphs: list[tuple[int, int]]) -> None:
    sizes = torch.tensor([n for n, _ in graphs], dtype=torch.long)
    data = Data(
        num_nodes=int(sizes.sum()),
        batch=torch.repeat_interleave(torch.arange(len(sizes)), sizes),
        ptr=torch.tensor([0, *sizes.cumsum(0).tolist()]),
    )
    counts = torch.tensor([c for _, c in graphs], dtype=torch.long)
    columns = node_columns(graph_layout(data), counts)

    expected, starts, per_node = [], [], []
    for n, count in graphs:
        for _ in range(n):
            starts.append(len(expected))
            per_node.append(count)
            expected.extend((len(starts) - 1, column) for column in range(count))
    assert list(zip(columns.source.tolist(), columns.column.tolist(), strict=True)) == expected
    assert columns.start.tolist() == starts
    assert columns.counts.tolist() == per_node
    assert len(columns) == len(expected)


def test_messages_stay_in_their_column_and_graph() -> None:
    """PairGIN on the columns is a GIN on each graph and column by itself."""
    every = list(zoo().values())
    batch = Batch.from_data_list(every)
    counts = torch.arange(len(every)) % 4
    columns = node_columns(graph_layout(batch), counts)
    gin = PairGIN(2, 5, 3, 2, "layer").double()
    x = torch.randn(len(columns), 2, dtype=torch.float64)
    got = gin(x, columns, batch.edge_index)
    for number, graph in enumerate(every):
        n = graph.num_nodes
        incoming = torch.zeros(n, n, dtype=torch.float64)
        source, target = graph.edge_index
        incoming.index_put_((target, source), torch.ones(1).double(), accumulate=True)
        for column in range(int(counts[number])):
            rows = (batch.batch[columns.source] == number) & (columns.column == column)
            hidden = x[rows]
            for epsilon, mlp in zip(gin.epsilon, gin.mlps, strict=True):
                hidden = mlp((1 + epsilon) * hidden + incoming @ hidden)
            assert largest_error(got[rows], hidden) < 1e-12
