"""EncodedDataset: a dataset whose fields are in the cache behaves like the same dataset encoded in memory."""

from __future__ import annotations

import copy
import gc
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from encoded_folders import molecules, with_a_bad_weight
from graph_zoo import from_networkx, zoo
from numbers_encoding import Numbers
from torch.utils.data import Subset, random_split
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset
from torch_geometric.loader import DataLoader

import graphpe
from graphpe import Field
from graphpe.precompute import EncodedDataset
from graphpe.precompute.cache import plan
from graphpe.precompute.cache.entry import Entry, write
from graphpe.precompute.cache.plan import Range
from graphpe.precompute.encoded import MappedEntry, MappedField
from graphpe.precompute.sizes import Sizes
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    Encoding,
)

nx = pytest.importorskip("networkx")

JOINED = AddRandomWalkPE(2, attr_name=None)
ENCODINGS = [AddLaplacianEigenvectorPE(4), AddMagneticLaplacianPE(3), Numbers(), JOINED]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 5)


def graphs_with_features() -> list[Data]:
    graphs = list(zoo().values())
    for number, data in enumerate(graphs):
        data.x = torch.full((data.num_nodes, 2), float(number))
        data.edge_attr = torch.ones(data.num_edges, 3)
        data.y = torch.tensor([number % 4])
        data.name = f"graph {number}"
        del data.num_nodes
    return graphs


class Stored(InMemoryDataset):
    """Graphs in memory, with a method and a property of their own."""

    def __init__(self, graphs: list[Data], transform: Callable | None = None) -> None:
        super().__init__(transform=transform)
        self._data, self.slices = self.collate(graphs)
        self.note = "kept"

    def labels(self) -> list[int]:
        return [int(self.get(number).y) for number in self.indices()]

    @property
    def raw_dir(self) -> str:
        return "of its own"


class OnAccess(Dataset):
    """A dataset that is not in memory as far as PyG knows."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs = graphs_with_features()

    def len(self) -> int:
        return len(self.graphs)

    def get(self, idx: int) -> Data:
        return copy.copy(self.graphs[idx])


DATASETS = {
    "whole": lambda: Stored(graphs_with_features()),
    "part": lambda: Stored(graphs_with_features())[[5, 3, 3, 16, 0, 7, 2]],
    "part of a part": lambda: Stored(graphs_with_features())[2:14][[9, 1, 4]],
    "number of nodes alone": lambda: Stored(list(zoo().values())),
    "one graph of many": lambda: Stored(graphs_with_features())[7:8],
    "one graph": lambda: Stored(graphs_with_features()[7:8]),
    "on access": OnAccess,
}


def assert_same(got: Data, wanted: Data) -> None:
    assert type(got) is type(wanted)
    assert list(got.keys()) == list(wanted.keys())
    for name, value in wanted._store.items():
        if isinstance(value, torch.Tensor):
            assert got[name].dtype == value.dtype, name
            assert torch.equal(got[name], value), name
        else:
            assert got[name] == value, name


def assert_all_same(got: Any, wanted: Any) -> None:
    assert len(got) == len(wanted) > 0
    for one, other in zip(got, wanted, strict=True):
        assert_same(one, other)


@pytest.fixture(params=["whole", "part"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[EncodedDataset, Stored]:
    """A dataset encoded with a cache, and in memory."""
    make = DATASETS[request.param]
    return (
        graphpe.encode(make(), ENCODINGS, cache_dir=tmp_path),
        graphpe.encode(make(), ENCODINGS),
    )


@pytest.mark.parametrize("kind", DATASETS)
def test_every_graph_is_that_of_memory(kind: str, tmp_path: Path) -> None:
    wanted = graphpe.encode(DATASETS[kind](), ENCODINGS)
    for _ in range(2):
        got = graphpe.encode(DATASETS[kind](), ENCODINGS, cache_dir=tmp_path)
        assert_all_same(got, wanted)
        assert_same(Batch.from_data_list(list(got)), Batch.from_data_list(list(wanted)))


# --- indices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, -1, 3, np.int64(4), torch.tensor(2)], ids=str)
def test_a_graph_by_number(both, index: Any) -> None:
    got, wanted = both
    assert_same(got[index], wanted[index])


@pytest.mark.parametrize(
    "index",
    [
        slice(1, 5),
        slice(None, None, -1),
        slice(0.5),
        [4, 0, 4],
        (3, -2),
        torch.tensor([5, 1, 1]),
        torch.arange(7) % 2 == 0,
        np.array([2, 6]),
        np.arange(7) % 3 == 0,
    ],
    ids=str,
)
def test_parts_by_index(both, index: Any) -> None:
    got, wanted = (each[:7] for each in both)
    assert_all_same(got[index], wanted[index])
    assert_all_same(got.index_select(index), wanted.index_select(index))
    assert_all_same(got[::-1][index], wanted[::-1][index])
    assert got[index].fields == wanted.fields != {}
    assert got[index].failures == {}


def test_wrong_indices_are_refused_as_by_pyg(both) -> None:
    for dataset in both:
        with pytest.raises(IndexError, match="Only slices"):
            dataset["first"]
        with pytest.raises(IndexError, match="range"):
            dataset[len(dataset)]
        assert len(dataset[[]]) == 0


def test_shuffled_and_split(both) -> None:
    got, wanted = both
    for shuffled in zip(
        *((torch.manual_seed(3), each.shuffle(return_perm=True))[1] for each in both), strict=True
    ):
        assert len(shuffled[0]) == len(shuffled[1])
    torch.manual_seed(3)
    one = got.shuffle()
    torch.manual_seed(3)
    assert_all_same(one, wanted.shuffle())
    assert_all_same(Subset(got[1:], [4, 2]), Subset(wanted[1:], [4, 2]))
    lengths = [3, len(wanted) - 3]
    parts = [random_split(each, lengths, torch.Generator().manual_seed(1)) for each in both]
    for one, other in zip(*parts, strict=True):
        assert_all_same(one, other)


# --- the dataset that it stands for ---------------------------------------------------------------


def test_attributes_are_those_of_memory(both) -> None:
    for got, wanted in zip(
        (both[0], both[0][[2, 0, 5]]), (both[1], both[1][[2, 0, 5]]), strict=True
    ):
        for name in ("num_node_features", "num_features", "num_edge_features", "num_classes"):
            assert getattr(got, name) == getattr(wanted, name) > 0
        assert (got.note, got.raw_dir, got.root) == (wanted.note, "of its own", wanted.root)
        assert got.labels() == wanted.labels()
        assert got.name == wanted.name
        # Of a part, tensors of all its graphs; those that encodings have written, too.
        names = set(wanted[0].keys()) - {"edge_index", "name"}
        assert names > {*wanted.fields, "x", "y"}
        for name in names:
            assert torch.equal(getattr(got, name), getattr(wanted, name)), name
        with pytest.raises(AttributeError, match="nothing_of_the_kind"):
            _ = got.nothing_of_the_kind


class Uncounted(list):
    """Numbers of graphs that nobody may go through."""

    def __iter__(self):
        raise AssertionError("all numbers were read")


def test_an_attribute_of_a_part_takes_no_time_for_each_graph(tmp_path: Path) -> None:
    encoded = graphpe.encode(Stored(graphs_with_features()), JOINED, cache_dir=tmp_path)[:9]
    encoded._indices = Uncounted([3, 1])
    assert (encoded.note, encoded.raw_dir, len(encoded)) == ("kept", "of its own", 2)
    with pytest.raises(AssertionError, match="all numbers"):
        encoded.labels()


def test_it_stands_for_a_dataset_of_ogb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # one shard
    dataset = molecules()
    encoded = graphpe.encode(dataset, AddRandomWalkPE(3), cache_dir=tmp_path)
    names = (
        "root raw_dir raw_file_names raw_paths processed_dir processed_file_names processed_paths"
    )
    names += " name num_tasks task_type eval_metric num_classes pre_transform meta_info"
    for got in (encoded, encoded[[7, 9]]):
        for name in names.split():
            assert np.all(getattr(got, name) == getattr(dataset, name)), name
        split = got.get_idx_split()
        for part, numbers in dataset.get_idx_split().items():
            assert torch.equal(split[part], numbers)
    assert repr(encoded) == "EncodedDataset(OGBGraphs(1128), fields=['random_walk_pe'])"
    assert str(encoded[:7]) == "EncodedDataset(OGBGraphs(7), fields=['random_walk_pe'])"


def test_what_would_leave_out_the_fields_is_refused(tmp_path: Path) -> None:
    encoded = graphpe.encode(Stored(graphs_with_features()), ENCODINGS, cache_dir=tmp_path)
    for name in ("to", "cpu", "data", "slices", "to_on_disk_dataset", "multi_get"):
        with pytest.raises(AttributeError, match=rf"has no '{name}', .*copy\(\)") as error:
            getattr(encoded, name)
        assert "\n" not in str(error.value)


def test_a_copy_is_in_memory_and_has_the_fields(both) -> None:
    got, wanted = both
    for one, other in (
        (got.copy(), wanted.copy()),
        (got.copy([3, 1]), wanted.copy([3, 1])),
        (got[2:].copy(slice(3)), wanted[2:].copy(slice(3))),
    ):
        assert type(one) is Stored
        assert (one.fields, one.failures) == (wanted.fields, {})
        assert_all_same(one, other)
        assert one.slices.keys() == other.slices.keys()
    assert_same(got[1], wanted[1])


def test_a_dataset_that_is_not_in_memory_has_no_copy_there(tmp_path: Path) -> None:
    encoded = graphpe.encode(OnAccess(), JOINED, cache_dir=tmp_path)
    with pytest.raises(TypeError, match=r"those of a OnAccess; take list\(encoded\)"):
        encoded.copy()
    with pytest.raises(AttributeError, match="x"):
        _ = encoded.x
    assert (encoded.num_classes, encoded.num_node_features) == (4, 4)


def test_shallow_and_deep_copies(both) -> None:
    got, wanted = both
    assert_all_same(copy.copy(got), wanted)
    deep = copy.deepcopy(got[2:5])
    assert deep.dataset is not got.dataset
    assert_all_same(deep, wanted[2:5])


class CountingTransform:
    """Marks a graph, and needs a field."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Data) -> Data:
        self.calls += 1
        data.mark = data.numbers_own.sum()
        data.y = data.y + 10
        return data


def test_a_transform_may_be_set_later(both) -> None:
    got, wanted = both
    got.transform = CountingTransform()
    wanted.transform = CountingTransform()
    assert_same(got[2], wanted[2])
    assert got.transform.calls == 1
    assert got.num_classes == wanted.num_classes == 14
    assert_all_same(got[1:], wanted[1:])
    assert_same(got.copy()[1], wanted.copy()[1])
    assert got.dataset.transform is None
    got.transform = None
    assert "mark" not in got[2]


def test_the_transform_of_the_wrapped_dataset_runs_once(tmp_path: Path) -> None:
    transform = CountingTransform()
    with pytest.warns(UserWarning, match="runs on each access after the encodings"):
        got = graphpe.encode(
            Stored(graphs_with_features(), transform), ENCODINGS, cache_dir=tmp_path
        )
    calls = transform.calls
    assert got[3].mark == got[3].numbers_own.sum()
    assert transform.calls == calls + 2
    got.transform = None
    assert got.num_classes == 4
    assert got[3].y == 3
    assert got.y.max() == 3
    assert transform.calls == calls + 2


@pytest.mark.parametrize("cached", [(True, True), (True, False), (False, True)])
def test_an_encoded_dataset_can_be_encoded(tmp_path: Path, cached: tuple[bool, bool]) -> None:
    folders = [tmp_path if each else None for each in cached]
    first = graphpe.encode(Stored(graphs_with_features()), ENCODINGS[:2], cache_dir=folders[0])
    got = graphpe.encode(first[[6, 2, 9]], ENCODINGS[2:], cache_dir=folders[1])
    in_memory = graphpe.encode(Stored(graphs_with_features()), ENCODINGS[:2])
    wanted = graphpe.encode(in_memory[[6, 2, 9]], ENCODINGS[2:])
    assert list(got.fields) == list(wanted.fields)
    assert_all_same(got, wanted)
    for index in ([2, 0], slice(None)):
        assert_all_same(got[index], wanted[index])
        for name in ("x", "laplacian_eigenvector_pe", "numbers_own", "y"):
            assert torch.equal(getattr(got[index], name), getattr(wanted[index], name))
        assert_all_same(got[index].copy(), wanted[index].copy())


@pytest.mark.parametrize("on_error", ["nan", "skip"])
def test_failures_stay_with_the_result(tmp_path: Path, on_error: str) -> None:
    dataset = Stored(with_a_bad_weight(9, 7))
    with pytest.warns(UserWarning, match="1 of 9 graphs"):
        encoded = graphpe.encode(dataset, AddRandomWalkPE(3), cache_dir=tmp_path, on_error=on_error)
    assert list(encoded.failures) == list(encoded[2:4].failures) == [7]
    assert list(encoded.copy([0]).failures) == [7]
    assert len(encoded) == (9 if on_error == "nan" else 8)
    for name in ("failures", "fields"):
        assert not hasattr(dataset, name)
        assert name not in dataset.__dict__


# --- memory and files -----------------------------------------------------------------------------


def test_what_is_written_into_a_graph_stays_there(tmp_path: Path) -> None:
    """Not in the files, nor in what others read."""
    graphs = list(zoo().values())  # without x, which is then a field alone
    encoded = graphpe.encode(Stored(graphs), ENCODINGS, cache_dir=tmp_path)
    before = [path.read_bytes() for path in sorted(tmp_path.rglob("*.safetensors"))]
    wanted = graphpe.encode(Stored(graphs), ENCODINGS)
    names = [*encoded.fields, "x"]
    for name in names:
        encoded[8][name].fill_(9)
        getattr(encoded, name).fill_(9)
        getattr(encoded[[8, 9]], name).fill_(9)
        data = encoded[8]
        assert data[name].untyped_storage().nbytes() == data[name].nbytes
    assert_all_same(encoded, wanted)
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.safetensors"))] == before


def test_a_pickle_is_small_and_finds_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # one shard
    dataset = molecules()
    encoded = graphpe.encode(dataset, AddRelativeRandomWalkPE(8), cache_dir=tmp_path)
    wanted = [encoded[number] for number in (0, 700)]
    pickled = pickle.dumps(encoded)
    plain = len(pickle.dumps(dataset))
    size = encoded.values[0][0].shape[0] * 8 * 4
    assert len(pickled) - plain < 200_000 < size / 20
    loaded = pickle.loads(pickled)
    assert_all_same([loaded[number] for number in (0, 700)], wanted)
    part = pickle.loads(pickle.dumps(encoded[[700, 0]]))
    assert_all_same(part, wanted[::-1])


@dataclass(frozen=True, repr=False)
class OfAllKinds(Encoding):
    """Fields of dtypes and shapes that tensors in files may have; never computed."""

    KINDS: ClassVar = {
        "bytes_own": (torch.uint8, (5,), "node"),
        "numbers_own": (torch.int64, (1,), "edge"),
        "complex_own": (torch.complex128, (2, 3), "node"),
        "small_complex_own": (torch.complex64, (2,), "pair"),
        "flags_own": (torch.bool, (3,), "graph"),
        "half_own": (torch.bfloat16, (2, 1), "pair"),
        "nothing_own": (torch.float32, (0,), "node"),
    }
    attr_name: str | None = "bytes_own"

    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(name, level, math.prod(shape), dtype, shape=shape)
            for name, (dtype, shape, level) in self.KINDS.items()
        )

    def encode_block(self, block: Any) -> Any:
        raise NotImplementedError

    encode_large = encode_block


def test_fields_of_all_kinds_in_shards_of_all_sizes(tmp_path: Path) -> None:
    """Graphs without nodes, shards without rows, any order, the same graph twice, none at all."""
    sizes = Sizes(
        torch.tensor([2, 0, 3, 0, 0, 1, 4, 0, 0]), torch.tensor([1, 0, 2, 0, 0, 0, 5, 0, 0])
    )
    shards = [Range(0, 1), Range(1, 2), Range(2, 4), Range(4, 5), Range(5, 7), Range(7, 9)]
    entry = Entry(tmp_path, "graphs", OfAllKinds(), shards)
    whole = []
    for field in entry.encoding.fields():
        shape = (int(sizes.rows(field.level)[-1]), *field.row_shape)
        whole.append(torch.randint(0, 100, shape).to(field.dtype))
    for shard in shards:
        own = []
        for field, values in zip(entry.encoding.fields(), whole, strict=True):
            start, stop = sizes.rows(field.level)[[shard.start, shard.stop]].tolist()
            own.append(values[start:stop])
        write(entry.folder, shard, own, {})
    entry.finish()
    mapped = MappedEntry(entry, repair=None)
    for place, (field, values) in enumerate(zip(entry.encoding.fields(), whole, strict=True)):
        got = MappedField(mapped, place, sizes)
        assert (len(got), got.shape, got.dtype) == (len(values), values.shape, values.dtype)
        for start, stop in combinations_with_replacement(range(len(values) + 1), 2):
            assert_equal(got[start:stop], values[start:stop])
        assert_equal(got[:], values)
        rows = sizes.rows(field.level)
        for numbers in ([], [1], [8, 7, 4], [6, 0, 6, 2, 1], list(range(9)), [5] * 20):
            parts = [values[rows[number] : rows[number + 1]] for number in numbers]
            wanted = torch.cat([values[:0], *parts])
            assert_equal(got.of_graphs(torch.tensor(numbers, dtype=torch.long)), wanted)
    with pytest.raises(ValueError, match="taken in steps of 2; take each"):
        got[::2]


def assert_equal(got: torch.Tensor, wanted: torch.Tensor) -> None:
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert torch.equal(got, wanted)


def resident() -> int:
    """Bytes of this process in memory, those of mapped files included."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_of_a_large_cache_only_what_is_asked_for_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # shards as large as they are
    cycle = from_networkx(nx.cycle_graph(64))
    dataset = Stored([cycle] * 800)
    encoding = AddRelativeRandomWalkPE(16)
    graphpe.encode(dataset, encoding, cache_dir=tmp_path)
    (path, *more) = tmp_path.rglob("*.safetensors")
    assert sum(each.stat().st_size for each in (path, *more)) > 200e6
    before = resident()
    encoded = graphpe.encode(dataset, encoding, cache_dir=tmp_path)
    for number in (0, 399, 799):
        assert torch.equal(
            encoded[number].relative_random_walk_pe, encoding(cycle)["relative_random_walk_pe"]
        )
    assert encoded[::100].relative_random_walk_pe.shape == (8 * 64**2, 16)
    assert resident() - before < 30e6


# --- loaders --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workers",
    [
        {"num_workers": 0},
        {"num_workers": 2, "multiprocessing_context": "fork"},
        {"num_workers": 2, "multiprocessing_context": "spawn"},
    ],
    ids=["none", "fork", "spawn"],
)
def test_loaders_of_pyg(workers: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the parent has read from the files before."""
    monkeypatch.setattr(plan, "_GRAPHS", 300)
    encodings = [AddRandomWalkPE(3), JOINED.__class__(2, "other")]
    numbers = [1100, 3, 3, 500, 0, 77]
    wanted = graphpe.encode(molecules()[numbers], encodings)
    got = graphpe.encode(molecules(), encodings, cache_dir=tmp_path)[numbers]
    assert_same(got[0], wanted[0])
    for one, other in zip(
        DataLoader(got, batch_size=4, **workers), DataLoader(wanted, batch_size=4), strict=True
    ):
        assert_same(one, other)
