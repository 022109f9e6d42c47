"""AddOrderedSubsetPE: sorted random subsets, along the numbering or the topological generations."""

from __future__ import annotations

import dataclasses
import itertools
import warnings

import pytest
import scipy.stats
import torch
from graph_zoo import graph, zoo
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.sequence import AddOrderedSubsetPE

INSTANCES = [
    AddOrderedSubsetPE(2048, seed=7, dense_limit=7),
    AddOrderedSubsetPE(2048, order="topological"),
]
DIAMOND = graph(5, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)], directed=True)


@pytest.mark.filterwarnings("ignore:some graphs have one topological generation")
@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddOrderedSubsetPE) -> None:
    check_encoding(encoding)


def positions(encoding: AddOrderedSubsetPE, data: Data) -> list[int]:
    return encoding(data).ordered_subset_pe.squeeze(1).tolist()


def test_positions_ascend_with_the_node_number() -> None:
    encoding = AddOrderedSubsetPE(100)
    for data in zoo().values():
        values = positions(encoding, data)
        assert values == sorted(set(values))
        assert all(0 <= value < 100 for value in values)


def test_each_subset_is_equally_likely() -> None:
    data = graph(3, [(0, 1)])
    subsets = list(itertools.combinations(range(5), 3))
    counts = [0] * len(subsets)
    for seed in range(600):
        counts[subsets.index(tuple(positions(AddOrderedSubsetPE(5, seed=seed), data)))] += 1
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_a_range_as_long_as_the_graph_leaves_no_choice() -> None:
    assert positions(AddOrderedSubsetPE(9), zoo()["path"]) == list(range(9))


def test_an_epoch_draws_anew_by_its_seed() -> None:
    encoding = AddOrderedSubsetPE(1000)
    epochs = [positions(dataclasses.replace(encoding, seed=e), zoo()["path"]) for e in range(5)]
    assert len({tuple(values) for values in epochs}) == 5


def test_a_generation_shares_its_position() -> None:
    first, left, right, join, last = positions(AddOrderedSubsetPE(50, order="topological"), DIAMOND)
    assert first < left == right < join < last


def test_generations_use_the_whole_range() -> None:
    """Two generations of many nodes: a subset of two, not the lowest two of many."""
    star = graph(40, [(0, i) for i in range(1, 40)], directed=True)
    encoding = AddOrderedSubsetPE(1000, order="topological")
    last = [positions(dataclasses.replace(encoding, seed=s), star)[1] for s in range(100)]
    assert 550 < torch.tensor(last).double().mean() < 780  # 2/3 of 1000


def test_a_cycle_shares_its_position() -> None:
    data = graph(4, [(0, 1), (1, 2), (2, 1), (2, 3)], directed=True)
    start, first, second, end = positions(AddOrderedSubsetPE(50, order="topological"), data)
    assert start < first == second < end


def test_an_undirected_graph_has_no_topological_order() -> None:
    with pytest.warns(UserWarning, match="one topological generation only.*order='given'"):
        AddOrderedSubsetPE(50, order="topological")(zoo()["path"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AddOrderedSubsetPE(50, order="topological")(DIAMOND)


def test_more_nodes_than_positions() -> None:
    batch = Batch.from_data_list([graph(3), graph(6), graph(2)])
    with pytest.raises(ValueError, match=r"graph 1 has 6 positions.*maximum is 5; set maximum to"):
        AddOrderedSubsetPE(5)(batch)
    assert AddOrderedSubsetPE(4, order="topological")(DIAMOND).ordered_subset_pe.shape == (5, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"maximum": 0}, "maximum is 0"),
        ({"maximum": 10**30}, r"maximum is 10+; it must be an integer from 1 to"),
        ({"order": "random"}, "order is 'random'; it must be 'given' or 'topological'"),
        ({"seed": None}, "seed is None"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddOrderedSubsetPE(**{"maximum": 9, **settings})
