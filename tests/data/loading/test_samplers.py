"""GraphBatchSampler: every graph once, equally many batches for all processes, similar sizes in a batch."""

from __future__ import annotations

from itertools import chain, islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.data.loading import GraphBatchSampler


def epoch_of(sampler: GraphBatchSampler, epoch: int) -> list[list[int]]:
    sampler.set_epoch(epoch)
    return list(sampler)


def of_all(processes: int, *args, **kwargs) -> list[GraphBatchSampler]:
    return [
        GraphBatchSampler(*args, **kwargs, num_replicas=processes, rank=rank)
        for rank in range(processes)
    ]


def padding(batches: list[list[int]], sizes: torch.Tensor) -> float:
    """The part of the nodes that is padding if each batch is padded to its largest graph."""
    padded = sum(len(batch) * int(sizes[batch].max()) for batch in batches)
    return 1 - sum(int(sizes[batch].sum()) for batch in batches) / padded if padded else 0.0


@given(
    processes=st.integers(1, 5),
    batch_size=st.integers(1, 6),
    sizes=st.lists(st.integers(0, 40), min_size=5, max_size=60),
    by_size=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_every_graph_once_in_equally_many_batches(
    processes: int, batch_size: int, sizes: list[int], by_size: bool, epoch: int
) -> None:
    given_sizes = torch.tensor(sizes) if by_size else None
    samplers = of_all(processes, len(sizes), batch_size, given_sizes)
    epochs = [epoch_of(sampler, epoch) for sampler in samplers]
    assert sorted(number for batches in epochs for batch in batches for number in batch) == list(
        range(len(sizes))
    )
    assert {len(batches) for batches in epochs} == {len(samplers[0])}
    for batches in zip(*epochs, strict=True):  # of one step
        lengths = [len(batch) for batch in batches]
        assert min(lengths) >= 1
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= max(batch_size, 2)
        assert batch_size > 1 or max(lengths) == 1 or len(sizes) % processes or by_size


@pytest.mark.parametrize(
    ("graphs", "batch_size", "processes", "expected"),
    [
        (10, 4, 1, [4, 4, 2]),
        (8, 4, 1, [4, 4]),
        (3, 4, 1, [3]),
        (10, 4, 2, [8, 2]),
        (9, 4, 2, [7, 2]),  # a rest of one graph gets another
        (3, 1, 2, [3]),
        (5, 4, 5, [5]),
    ],
)
def test_batches_are_full_but_for_the_rest(
    graphs: int, batch_size: int, processes: int, expected: list[int]
) -> None:
    epochs = [epoch_of(sampler, 0) for sampler in of_all(processes, graphs, batch_size)]
    assert [sum(map(len, batches)) for batches in zip(*epochs, strict=True)] == expected


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=200),
    batch_size=st.integers(1, 64),
    seed=st.integers(0, 5),
)
def test_padding_of_any_sizes(sizes: list[int], batch_size: int, seed: int) -> None:
    tensor = torch.tensor(sizes)
    sampler = GraphBatchSampler(len(sizes), batch_size, tensor, seed)
    assert padding(list(sampler), tensor) < 0.2


def molecules(count: int) -> torch.Tensor:
    """Sizes as those of molecules, with a long tail."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randn(count, generator=generator).mul(0.4).add(3.2).exp().round().long()
    sizes[:3] = torch.tensor([222, 150, 1])
    return sizes


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_padding_of_molecules(processes: int) -> None:
    """Without buckets more than half of the nodes are padding."""
    sizes = molecules(5000)
    plain = epoch_of(GraphBatchSampler(5000, 64), 0)
    assert padding(plain, sizes) > 0.5
    samplers = of_all(processes, 5000, 64, sizes)
    for sampler in samplers:
        assert padding(epoch_of(sampler, 0), sizes) < 0.2
    # Few batches more, and none tiny: no outlier has a step for itself.
    assert len(samplers[0]) <= len(of_all(processes, 5000, 64)[0]) + 12
    assert min(map(len, epoch_of(samplers[0], 0))) >= 16


def test_one_huge_graph_among_tiny_ones() -> None:
    sizes = torch.full((100,), 3)
    sizes[40] = 10_000
    batches = list(GraphBatchSampler(100, 32, sizes))
    assert padding(batches, sizes) < 0.2
    assert [40] in batches


def test_batches_change_from_epoch_to_epoch() -> None:
    """Their order, and which graphs are together, also where sizes differ."""
    for sizes in (None, torch.arange(100, 200), torch.full((100,), 7)):
        sampler = GraphBatchSampler(100, 10, sizes)
        first, second = list(sampler), list(sampler)
        assert {frozenset(batch) for batch in first}.isdisjoint(frozenset(b) for b in second)
        assert list(islice(sampler, 3)) not in (first[:3], second[:3])
        assert epoch_of(sampler, 0) == first
        assert list(sampler) == second  # each pass is the next epoch
        assert epoch_of(GraphBatchSampler(100, 10, sizes, seed=1), 0) not in (first, second)


def test_large_batches_come_anywhere() -> None:
    sizes = torch.arange(1, 501)
    largest = [
        [max(sizes[batch].tolist()) for batch in epoch_of(sampler, epoch)].index(500)
        for sampler in [GraphBatchSampler(500, 10, sizes)]
        for epoch in range(10)
    ]
    assert len(set(largest)) > 5


def test_the_global_batches_are_those_of_one_process_with_larger_batches() -> None:
    together = epoch_of(GraphBatchSampler(51, 12), 3)
    shared = [epoch_of(sampler, 3) for sampler in of_all(3, 51, 4)]
    for batch, *parts in zip(together, *shared, strict=True):
        assert sorted(batch) == sorted(chain(*parts))


def test_fewer_graphs_than_processes() -> None:
    with pytest.raises(ValueError, match=r"3 graphs for 4 processes.* at most 3 devices"):
        GraphBatchSampler(3, 2, num_replicas=4, rank=0)
    with pytest.raises(ValueError, match="batch_size is 0"):
        GraphBatchSampler(3, 0)
