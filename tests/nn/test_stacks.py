"""Padded stacks of graphs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.nn.layout import GraphLayout, node_pairs
from graphpe.nn.stacks import stacks_of
from graphpe.ragged import offsets_of


def layout_of(sizes: list[int]) -> GraphLayout:
    counts = torch.tensor(sizes, dtype=torch.long)
    return GraphLayout(
        torch.repeat_interleave(torch.arange(len(sizes)), counts), offsets_of(counts)
    )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.booleans())
def test_every_row_and_pair_is_in_one_place(sizes: list[int], tokens: bool) -> None:
    layout = layout_of(sizes)
    stacks = stacks_of(layout, tokens, pairs=True)
    num_rows = sum(sizes) + len(sizes) * tokens
    values = torch.randn(num_rows, 3)
    gathered = [stack.gather(values) for stack in stacks.stacks]
    assert torch.equal(stacks.unstack(gathered), values)
    for own, at_once in zip(gathered, stacks.gather(values), strict=True):
        assert torch.equal(own, at_once)
    assert stacks.place.shape == (num_rows,)

    graph_of = torch.cat([layout.batch, torch.arange(len(sizes))[: num_rows - layout.num_nodes]])
    pairs = node_pairs(layout)
    seen = []
    for stack in stacks.stacks:
        # padding, too, is of the same graph
        assert (graph_of[stack.rows] == graph_of[stack.rows[:, :1]]).all()
        valid = torch.ones_like(stack.rows).bool() if stack.valid is None else stack.valid
        assert stack.valid is None or not stack.valid.all()
        real = int(valid.sum(1).square().sum())
        assert real > 0.8 * valid.size(0) * valid.size(1) ** 2 or not len(valid)
        for g, i, j in (stack.pairs < len(pairs)).nonzero().tolist():
            row = stack.pairs[g, i, j]
            assert valid[g, i]
            assert valid[g, j]
            assert pairs.source[row] == stack.rows[g, i]
            assert pairs.target[row] == stack.rows[g, j]
            seen.append(int(row))
    assert sorted(seen) == list(range(len(pairs)))


def test_graphs_of_one_size_need_no_mask() -> None:
    stacks = stacks_of(layout_of([3, 3, 0, 3])).stacks
    assert [stack.valid for stack in stacks] == [None]
    assert stacks[0].rows.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert stacks[0].pairs is None


def test_a_large_graph_does_not_pad_small_ones() -> None:
    stacks = stacks_of(layout_of([2, 100, 2, 1]))
    assert [tuple(stack.rows.shape) for stack in stacks.stacks] == [(1, 100), (2, 2), (1, 1)]


def test_as_many_graphs_as_padding_allows_share_a_stack() -> None:
    """The mean of 20², 18², 17² and 17² is 81 % of 20²; with one more 17² it would be 79.5 %."""
    stacks = stacks_of(layout_of([17, 18, 17, 20, 17])).stacks
    assert [tuple(stack.rows.shape) for stack in stacks] == [(4, 20), (1, 17)]
    stacks = stacks_of(layout_of([10, 10, 10, 10, 1])).stacks  # 80.2 %
    assert [tuple(stack.rows.shape) for stack in stacks] == [(5, 10)]
    stacks = stacks_of(layout_of([5, 5, 5, 5])).stacks
    assert [stack.valid for stack in stacks] == [None]


@pytest.mark.parametrize("seed", range(3))
def test_molecules_need_few_stacks(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    sizes = (23 + 4.5 * torch.randn(128, generator=generator)).round().clamp(9, 38).int().tolist()
    stacks = stacks_of(layout_of(sizes)).stacks
    padded = sum(stack.rows.size(0) * stack.rows.size(1) ** 2 for stack in stacks)
    assert sum(size**2 for size in sizes) > 0.8 * padded
    assert len(stacks) <= 6


def test_tokens_come_after_the_nodes() -> None:
    (one, two, three) = stacks_of(layout_of([2, 0, 1]), tokens=True, pairs=True).stacks
    assert one.rows.tolist() == [[0, 1, 3]]
    assert one.pairs.tolist() == [[[0, 1, 5], [2, 3, 5], [5, 5, 5]]]
    assert two.rows.tolist() == [[2, 5]]
    assert two.pairs.tolist() == [[[4, 5], [5, 5]]]
    assert three.rows.tolist() == [[4]]  # the graph without nodes has a token
    assert three.pairs.tolist() == [[[5]]]


def test_no_rows() -> None:
    stacks = stacks_of(layout_of([0, 0]))
    assert [stack.rows.shape for stack in stacks.stacks] == [(0, 1)]
    assert stacks.place.shape == (0,)
