"""GraphBatches and its loaders: any part of any dataset, in the batches that PyG's loader makes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_networkx

from graphpe import encode
from graphpe.data.loading import (
    GraphBatches,
    GraphBatchSampler,
    loader_in_order,
    loader_of,
    whole_and_numbers,
)
from graphpe.precompute.cache import plan
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

nx = pytest.importorskip("networkx")

ENCODINGS = [AddLaplacianEigenvectorPE(3), AddRandomWalkPE(4), AddRandomWalkPE(2, attr_name=None)]


def trees() -> list[Data]:
    made = []
    for n in range(1, 13):
        data = from_networkx(nx.path_graph(n))
        data.x, data.y = torch.full((n, 1), float(n)), torch.tensor([n])
        data.edge_index = data.edge_index.long()
        made.append(data)
    return made


class Stored(InMemoryDataset):
    def __init__(self, graphs: list[Data], transform: Any = None) -> None:
        super().__init__(transform=transform)
        self.data, self.slices = self.collate(graphs)


class OnDisk(Dataset):
    def len(self) -> int:
        return 12

    def get(self, idx: int) -> Data:
        return trees()[idx]


class OwnData(Data):
    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 7 if key == "y" else super().__inc__(key, value, *args, **kwargs)


def add_one(data: Data) -> Data:
    data.y = data.y + 1
    return data


PARTS = {
    "list": (trees, None),
    "dataset": (lambda: Stored(trees()), None),
    "part of a dataset": (lambda: Stored(trees())[[7, 3, 9, 1]], None),
    "part of a part": (lambda: Stored(trees())[[7, 3, 9, 1]][1:], None),
    "subset of a list": (lambda: Subset(trees(), [4, 2, 8]), None),
    "subset of a subset": (lambda: Subset(Subset(trees(), [4, 2, 8]), [2, 0]), None),
    "subset of a part": (lambda: Subset(Stored(trees())[[7, 3, 9, 1]], [2, 0]), None),
    "encoded list": (lambda: encode(trees(), ENCODINGS), None),
    "encoded dataset": (lambda: encode(Stored(trees()), ENCODINGS)[3:8], None),
    "one graph": (lambda: trees()[3:4], "single graph"),
    "on disk": (OnDisk, "does not hold its graphs in one piece"),
    "encoded on disk": (lambda: encode(OnDisk(), ENCODINGS)[2:5], "in one piece"),
    "transform": (lambda: Stored(trees(), transform=add_one), "has a transform"),
    "own class": (lambda: [OwnData(**data.to_dict()) for data in trees()], "OwnData"),
    "different": (lambda: [Data(x=torch.ones(2, 1)), *trees()], "other attributes"),
}


def assert_same(ours: Batch, theirs: Batch) -> None:
    assert type(ours) is type(theirs)
    assert list(ours._store) == list(theirs._store)
    assert_same_values(ours, theirs)


def assert_same_values(ours: Data, theirs: Data) -> None:
    assert set(ours._store) == set(theirs._store)
    for name, value in theirs._store.items():
        if isinstance(value, torch.Tensor):
            assert ours[name].dtype == value.dtype
            assert torch.equal(ours[name], value)
        else:
            assert ours[name] == value


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", PARTS)
def test_batches_are_those_of_pyg(kind: str, num_workers: int) -> None:
    if num_workers and kind not in ("part of a dataset", "on disk"):
        return
    make, reason = PARTS[kind]
    part = make()
    graphs = GraphBatches(part)
    assert (graphs.reason is None) if reason is None else reason in graphs.reason
    assert len(graphs) == len(part)
    ours = list(loader_in_order(graphs, 3, num_workers))
    for one, other in zip(ours, DataLoader(make(), batch_size=3), strict=True):
        assert_same(one, other)
    assert graphs.num_nodes().tolist() == [data.num_nodes for data in part]
    assert torch.equal(graphs[0].x, part[0].x)


FROM_CACHE = {
    "dataset": lambda encoded: encoded,
    "part": lambda encoded: encoded[[7, 3, 8, 1]],
    "part of a part": lambda encoded: encoded[[7, 3, 8, 1]][1:],
    "subset": lambda encoded: Subset(encoded, [4, 2, 8]),
    "subset of a part": lambda encoded: Subset(encoded[[7, 3, 8, 1]], [2, 0]),
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", FROM_CACHE)
def test_batches_from_the_cache_are_those_of_memory(
    kind: str, num_workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if num_workers and kind != "part":
        return
    monkeypatch.setattr(plan, "_GRAPHS", 4)
    for whole in (Stored(trees()), Stored(trees())[[11, 3, 9, 1, 7, 0, 5, 2, 2]]):
        part = FROM_CACHE[kind](encode(whole, ENCODINGS, cache_dir=tmp_path))
        in_memory = FROM_CACHE[kind](encode(whole, ENCODINGS))
        graphs = GraphBatches(part)
        assert graphs.reason is None
        for one, other in zip(
            loader_in_order(graphs, 3, num_workers),
            DataLoader(in_memory, batch_size=3),
            strict=True,
        ):
            assert_same(one, other)
        assert graphs.num_nodes().tolist() == [data.num_nodes for data in in_memory]
        assert_same_values(graphs[0], in_memory[0])


@pytest.mark.parametrize(
    ("make", "reason"),
    [(OnDisk, "OnDisk does not hold"), (lambda: Stored(trees())[5:6], None)],
    ids=["on disk", "a part of one graph"],
)
def test_what_is_not_in_one_piece_can_come_from_the_cache(
    make: Callable, reason: str | None, tmp_path: Path
) -> None:
    encoded = encode(make(), ENCODINGS, cache_dir=tmp_path)
    graphs = GraphBatches(encoded)
    assert (graphs.reason is None) if reason is None else reason in graphs.reason
    (one,), (other,) = loader_in_order(graphs, 12, 0), DataLoader(encoded, batch_size=12)
    assert_same(one, other)
    encoded.transform = add_one
    assert "EncodedDataset has a transform" in GraphBatches(encoded).reason
    assert GraphBatches(encoded)[[0]].y == encoded[0].y == make()[0].y + 1


def test_parts_know_their_whole() -> None:
    whole = Stored(trees())
    assert whole_and_numbers(Subset(whole[[7, 3, 9, 1]], [2, 0]))[1].tolist() == [9, 7]
    assert whole_and_numbers(trees())[1].tolist() == list(range(12))


def test_parts_of_one_list_share_their_storage() -> None:
    whole, storages = trees(), {}
    parts = [GraphBatches(Subset(whole, index), (), storages) for index in ([0, 1], [2, 3, 4])]
    assert len(storages) == 1
    assert parts[0]._storage is parts[1]._storage


@pytest.mark.parametrize("kind", ["list", "part of a dataset", "on disk", "transform", "one graph"])
def test_encoding_batches_gives_what_encoding_ahead_gives(kind: str) -> None:
    """To the bit, for a batch and for a graph; the graphs themselves stay as they are."""
    make, _ = PARTS[kind]
    part = make()
    graphs = GraphBatches(part, ENCODINGS)
    ahead = encode(list(part), ENCODINGS)
    for _ in range(2):
        for one, other in zip(
            loader_in_order(graphs, 3, 0), DataLoader(ahead, batch_size=3), strict=True
        ):
            assert_same_values(one, other)
            for graph, alone in zip(one.to_data_list(), other.to_data_list(), strict=True):
                assert_same_values(graph, alone)
        assert_same_values(graphs[0], ahead[0])
    assert "random_walk_pe" not in part[0]


def test_the_order_is_the_same_whatever_the_number_of_workers() -> None:
    """Also over epochs, and where the epoch is said after the iterator was asked for."""
    orders = []
    for num_workers in (0, 1, 2):
        sampler = GraphBatchSampler(12, 5, seed=3)
        loader = loader_of(GraphBatches(trees()), sampler, num_workers)
        assert len(loader) == 3
        batches = iter(loader)
        sampler.set_epoch(4)
        orders.append([batch.y.tolist() for batch in batches])
        orders[-1] += [batch.y.tolist() for batch in loader]
    assert orders[0] == orders[1] == orders[2]
    assert sorted(chain.from_iterable(orders[0][:3])) == list(range(1, 13))
    assert orders[0][:3] != orders[0][3:]
