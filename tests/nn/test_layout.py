"""Where graphs and pairs lie in a batch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nn_batches import batch_of
from torch_geometric.data import Batch, Data

from graphpe.nn.layout import graph_layout, node_pairs


@given(st.lists(st.integers(0, 6), max_size=6))
def test_pairs_are_listed_row_major_graph_after_graph(sizes: list[int]) -> None:
    ptr = torch.tensor([0, *torch.tensor(sizes, dtype=torch.long).cumsum(0).tolist()])
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes, dtype=torch.long))
    data = Data(num_nodes=sum(sizes), batch=batch, ptr=ptr)
    layout = graph_layout(data)
    pairs = node_pairs(layout)

    expected = [
        (i, j)
        for first, size in zip(ptr.tolist(), sizes, strict=False)
        for i in range(first, first + size)
        for j in range(first, first + size)
    ]
    assert list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)) == expected
    assert len(pairs) == sum(size**2 for size in sizes)
    assert pairs.start.tolist() == [
        next(row for row, (i, _) in enumerate(expected) if i == node) for node in range(sum(sizes))
    ]
    assert layout.num_graphs == len(sizes)


def test_a_data_is_one_graph() -> None:
    layout = graph_layout(Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=3))
    assert layout.ptr.tolist() == [0, 3]
    assert layout.batch.tolist() == [0, 0, 0]


def test_empty_graphs_count() -> None:
    layout = graph_layout(batch_of("no nodes", "one node", "no nodes"))
    assert layout.sizes.tolist() == [0, 1, 0]


def test_missing_ptr_is_computed() -> None:
    data = Data(num_nodes=3, batch=torch.tensor([0, 0, 2]))
    assert graph_layout(data).ptr.tolist() == [0, 2, 2, 3]


def test_batch_without_batch_vector_is_refused() -> None:
    """B38: attention over the whole mini-batch because nobody passed `batch`."""
    batch = batch_of("path", "complete")
    del batch.batch
    with pytest.raises(ValueError, match="2 graphs but no 'batch' vector"):
        graph_layout(batch)
    del batch.ptr
    with pytest.raises(ValueError, match="2 graphs but no 'batch' vector"):
        graph_layout(batch)


def test_unsorted_batch_is_refused() -> None:
    batch = Batch.from_data_list([Data(num_nodes=2), Data(num_nodes=1)])
    batch.batch = torch.tensor([0, 1, 0])
    with pytest.raises(ValueError, match="not sorted"):
        graph_layout(batch)


def test_batch_of_wrong_length_is_refused() -> None:
    data = Data(x=torch.zeros(3, 1), batch=torch.tensor([0, 0]))
    with pytest.raises(ValueError, match=r"shape \[2\], but there are 3 nodes"):
        graph_layout(data)


@pytest.mark.filterwarnings("ignore:Unable to accurately infer")
def test_unknown_number_of_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="num_nodes"):
        graph_layout(Data())
