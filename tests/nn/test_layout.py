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


@pytest.mark.parametrize("graphs", [[Data(num_nodes=1)], (), torch.zeros(2), None])
def test_what_is_no_batch_is_refused(graphs: object) -> None:
    with pytest.raises(TypeError, match=r"a \w+; give a Data, .*Batch.from_data_list\(") as error:
        graph_layout(graphs)
    assert "\n" not in str(error.value)


def test_empty_graphs_count() -> None:
    layout = graph_layout(batch_of("no nodes", "one node", "no nodes"))
    assert layout.sizes.tolist() == [0, 1, 0]


def test_missing_ptr_is_computed() -> None:
    data = Data(num_nodes=3, batch=torch.tensor([0, 0, 2]))
    assert graph_layout(data).ptr.tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize(
    "names", [("path", "no nodes"), ("no nodes",), ("no nodes", "path", "no nodes", "no nodes")]
)
def test_empty_graphs_at_the_end_count_without_ptr(names: tuple[str, ...]) -> None:
    """The numbers in `batch` say nothing of them, but the batch knows how many graphs it has."""
    batch = batch_of(*names)
    expected = batch.ptr.tolist()
    del batch.ptr
    assert graph_layout(batch).ptr.tolist() == expected


@pytest.mark.parametrize(
    ("ptr", "message"),
    [
        ([0, 2, 6], "entry 1 of 'ptr' is 2, but by 'batch' it is 3"),
        ([0, 3], "entry 2 of 'ptr' is missing, but by 'batch' it is 6"),
        ([0, 3, 6, 6, 7], "entry 4 of 'ptr' is 7, but by 'batch' it is 6"),
        ([1, 3, 6], "entry 0 of 'ptr' is 1, but by 'batch' it is 0"),
        ([], "entry 0 of 'ptr' is missing"),
    ],
)
def test_ptr_that_contradicts_batch_is_refused(ptr: list[int], message: str) -> None:
    batch = Batch.from_data_list([Data(num_nodes=3), Data(num_nodes=3)])
    batch.ptr = torch.tensor(ptr, dtype=torch.long)
    with pytest.raises(ValueError, match=message) as error:
        graph_layout(batch)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [torch.int32, torch.long])
def test_any_integer_type(dtype: torch.dtype) -> None:
    batch = Batch.from_data_list([Data(num_nodes=2), Data(num_nodes=1)])
    batch.batch, batch.ptr = batch.batch.to(dtype), batch.ptr.to(dtype)
    layout = graph_layout(batch)
    assert (layout.ptr.tolist(), layout.batch.tolist()) == ([0, 2, 3], [0, 0, 1])
    assert layout.ptr.dtype == layout.batch.dtype == torch.long


def test_negative_graph_numbers_are_refused() -> None:
    data = Data(num_nodes=3, batch=torch.tensor([-1, 0, 1]))
    with pytest.raises(ValueError, match="'batch' has the number -1; number the graphs from 0"):
        graph_layout(data)


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


def test_b19_many_pairs_are_announced_before_they_are_made(monkeypatch) -> None:
    monkeypatch.setattr("graphpe.nn.layout._MANY_PAIRS", 30)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])
    with pytest.warns(
        UserWarning, match=r"about 30 pairs of nodes, which take 0.0 GiB per channel and layer; use"
    ):
        node_pairs(graph_layout(Data(batch=batch, num_nodes=8)))
