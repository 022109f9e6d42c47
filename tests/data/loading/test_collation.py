"""Batches from collated storage equal PyG's to the bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

from graphpe import encode
from graphpe.data.loading import CollatedGraphs, GraphBatches, NotCollatable
from graphpe.precompute.cache import plan
from graphpe.transforms import (
    AddHodgePE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddShortestPathPE,
    Encoding,
)


class Stored(InMemoryDataset):
    def __init__(self, graphs: list[Data], transform: Callable | None = None) -> None:
        super().__init__(transform=transform)
        self.data, self.slices = self.collate(graphs)


SIZES = [3, 1, 0, 7, 2, 5, 1, 4]


def random_graph(n: int, seed: int = 0) -> Data:
    """n nodes, with loops, parallel edges and isolated nodes; n edges."""
    generator = torch.Generator().manual_seed(1000 * seed + n)
    return Data(
        x=torch.randn(n, 2, generator=generator),
        edge_index=torch.randint(max(n, 1), (2, n), generator=generator),
        edge_attr=torch.randint(5, (n, 3), generator=generator),
        y=torch.randn(1, 2, generator=generator),
    )


def graphs() -> list[Data]:
    return [random_graph(n, seed) for seed, n in enumerate(SIZES)]


def with_each(**values: Callable[[int, int], Any]) -> list[Data]:
    """Graphs with attributes of their numbers and sizes."""
    made = graphs()
    for number, data in enumerate(made):
        for name, value in values.items():
            data[name] = value(number, SIZES[number])
    return made


def assert_same(ours: Any, theirs: Any) -> None:
    """Equal to the bit, and of the same type, through lists and dictionaries."""
    assert type(ours) is type(theirs)
    if isinstance(ours, Tensor):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        assert torch.equal(torch.nan_to_num(ours), torch.nan_to_num(theirs))
        assert torch.equal(ours != ours, theirs != theirs)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name in ours:
            assert_same(ours[name], theirs[name])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        assert ours == theirs


def assert_same_data(ours: Data, theirs: Data) -> None:
    assert type(ours) is type(theirs)
    assert_same(dict(ours._store._mapping), dict(theirs._store._mapping))


def assert_same_batch(ours: Batch, theirs: Batch) -> None:
    assert_same_data(ours, theirs)
    private = {"_num_graphs", "_slice_dict", "_inc_dict", "_num_nodes"}
    for batch in (ours, theirs):
        assert private >= {name for name in batch._store.__dict__ if name not in _ALWAYS}
    for name in private:
        assert_same(ours._store.__dict__.get(name), theirs._store.__dict__.get(name))
    assert ours.num_nodes == theirs.num_nodes
    assert ours.num_edges == theirs.num_edges
    assert len(ours) == ours.num_graphs == theirs.num_graphs
    for one, other in zip(ours.to_data_list(), theirs.to_data_list(), strict=True):
        assert_same_data(one, other)
    assert_same_data(ours[-1 + len(ours)], theirs[len(ours) - 1])


_ALWAYS = {"_mapping", "_parent", "_cached_attr"}


def check(made: Any, numbers: list[int] | None = None) -> CollatedGraphs:
    """Compares batches of a list or a dataset with PyG's."""
    collated = CollatedGraphs.of(made)
    for chosen in [numbers] if numbers else ([0], [2], [3, 1, 2, 2], [7, 6, 5, 4, 3, 2, 1, 0]):
        theirs = Batch.from_data_list([made[number] for number in chosen])
        assert_same_batch(collated.batch(torch.tensor(chosen)), theirs)
    return collated


def check_list_and_dataset(made: list[Data]) -> None:
    check(made)
    check(Stored(made))


ATTRIBUTES = {
    "scalar tensor": lambda i, n: torch.tensor(float(i)),
    "one number": lambda i, n: torch.tensor([i]),
    "float": lambda i, n: 0.5 * i,
    "int": lambda i, n: i,
    "bool": lambda i, n: i % 2 == 0,
    "string": lambda i, n: f"graph {i}",
    "words": lambda i, n: ["word"] * i,
    "nested words": lambda i, n: [["a", "b"], ["c"] * i],
    "numbers": lambda i, n: [1, 2.5, i],
    "tuple": lambda i, n: ("a", i),
    "node": lambda i, n: torch.arange(n) + i,
    "pair": lambda i, n: torch.randn(n * n, 3, generator=torch.Generator().manual_seed(i)),
    "matrix of each": lambda i, n: torch.full((1, 2, 3), float(i)),
    "ragged": lambda i, n: torch.arange(2 * i),
    "complex": lambda i, n: torch.full((n, 2), 1j * i, dtype=torch.complex64),
    "complex double": lambda i, n: torch.full((n, 2), 1j * i, dtype=torch.complex128),
    "half": lambda i, n: torch.full((n, 2), 0.1 * i, dtype=torch.float16),
    "boolean": lambda i, n: torch.arange(n) % 2 == 0,
    "missing": lambda i, n: torch.tensor([[float("nan"), i]]),
    "empty": lambda i, n: torch.zeros(1, 0),
    "not contiguous": lambda i, n: torch.arange(2.0 * n).view(2, n).T,
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_attributes_of_all_kinds(kind: str) -> None:
    names = ["y", "extra", "node_extra", "edge_extra", "pos", "n_id"]
    check_list_and_dataset(with_each(**dict.fromkeys(names, ATTRIBUTES[kind])))


DTYPES = [
    torch.int64,
    torch.int32,
    torch.int16,
    torch.uint8,
    torch.bool,
    torch.float64,
    torch.float32,
    torch.complex64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_node_numbers_of_all_dtypes(dtype: torch.dtype) -> None:
    """PyG goes by the name: fields of encodings with such names are shifted, too, whatever they hold."""
    attributes = {
        name: lambda i, n, shape=shape: (torch.ones(*shape, n) * 300.3).to(dtype)
        for name, shape in (("target_index", ()), ("edge_index_two", (2, 1)), ("face", (3,)))
    }
    check_list_and_dataset(with_each(**attributes))


@pytest.mark.parametrize("value", [torch.tensor(1), 1, torch.tensor([1])])
def test_one_node_number_per_graph(value: Any) -> None:
    check_list_and_dataset(with_each(root_index=lambda i, n: value))
    check_list_and_dataset(with_each(face=lambda i, n: value))


def test_graphs_without_features() -> None:
    """The number of nodes is said, found in another attribute, or not known at all."""
    made = [Data(edge_index=random_graph(n).edge_index, num_nodes=n + 1) for n in SIZES]
    check_list_and_dataset(made)
    check_list_and_dataset([Data(num_nodes=n, x=random_graph(n).x) for n in SIZES])
    check_list_and_dataset([Data(x=random_graph(n).x, num_nodes=n, name="a") for n in SIZES])
    check_list_and_dataset([Data(y=torch.ones(1, 2) * n) for n in SIZES])  # no nodes, no batch
    for name in ("pos", "feat", "node_type", "n_id", "node_names", "some_node"):
        made = [
            Data(edge_index=random_graph(n).edge_index, **{name: torch.arange(n)}) for n in SIZES
        ]
        check_list_and_dataset(made)
    # The first of several counts.
    made = [
        Data(pos=torch.ones(n + 1, 2), x=torch.ones(n, 1), a_index=torch.ones(2)) for n in SIZES
    ]
    check_list_and_dataset(made)


def test_a_huge_graph_next_to_tiny_ones() -> None:
    check([random_graph(1), random_graph(5000), random_graph(0), random_graph(2)], [1, 0, 3, 2, 1])


@given(st.lists(st.integers(0, 6), min_size=2, max_size=12), st.data())
def test_random_choices(sizes: list[int], data: st.DataObject) -> None:
    made = [random_graph(n, seed) for seed, n in enumerate(sizes)]
    numbers = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=15))
    check(made, numbers)
    check(Stored(made), numbers)


def test_encoded_graphs() -> None:
    """Fields of all levels, in a list and in storage."""
    encodings = [
        AddLaplacianEigenvectorPE(4),
        AddRandomWalkPE(5),
        AddRelativeRandomWalkPE(3),
        AddShortestPathPE(),
        AddMagneticLaplacianPE(2),
        AddHodgePE(2),
        AddRandomWalkPE(2, attr_name=None),
    ]
    made = [data for data in graphs() if data.num_nodes]
    for encoded in (encode(made, encodings), encode(Stored(made), encodings)):
        check(encoded, [0, 1, 2])
        check(encoded, [4, 3, 4])
    part = encode(Stored(made)[[5, 0, 3]], encodings[:2])
    collated = CollatedGraphs.of(part)
    theirs = Batch.from_data_list(list(part))
    assert_same_batch(collated.batch(torch.tensor(list(part.indices()))), theirs)


CACHED = [
    AddLaplacianEigenvectorPE(4),
    AddRelativeRandomWalkPE(3),
    AddShortestPathPE(),
    AddMagneticLaplacianPE(2),
    AddHodgePE(2),
    AddRandomWalkPE(2, attr_name=None),
    AddRandomWalkPE(3, attr_name="node_walks"),  # from which PyG could tell the number of nodes
    AddRandomWalkPE(4, attr_name=None),
]


def check_from_cache(dataset: InMemoryDataset, folder: Path, *calls: list[Encoding]) -> None:
    """Compares batches from the cache with PyG's, and with those of the same graphs encoded in memory."""
    encoded, in_memory = dataset, dataset
    for encodings in calls:
        encoded = encode(encoded, encodings, cache_dir=folder)
        in_memory = encode(in_memory, encodings)
    numbers = [number % len(dataset) for number in (3, 0, 2, 2)]
    collated = check(encoded, numbers)
    assert_same_batch(
        collated.batch(torch.tensor(numbers)),
        Batch.from_data_list([in_memory[number] for number in numbers]),
    )
    # Whatever the index of a part.
    again = CollatedGraphs.of(encoded[[1, 0]]).batch(torch.tensor(numbers))
    assert_same_batch(again, collated.batch(torch.tensor(numbers)))


@pytest.mark.parametrize(
    "made",
    [
        with_each(name=lambda i, n: f"graph {i}", words=lambda i, n: ["word"] * i),
        [Data(edge_index=data.edge_index, num_nodes=data.num_nodes) for data in graphs()],
        [Data(edge_index=data.edge_index, x=data.x[:, 0]) for data in graphs()],
        [Data(edge_index=data.edge_index, node_kind=data.x[:, 0]) for data in graphs()],
    ],
    ids=["features", "number of nodes alone", "one feature", "named after nodes"],
)
@pytest.mark.parametrize("index", [slice(None), [6, 0, 7, 2, 2]], ids=["whole", "part"])
def test_fields_from_the_cache(
    made: list[Data], index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all levels, those that go to x, and those of several calls, with and without a part between them."""
    monkeypatch.setattr(plan, "_GRAPHS", 3)
    made = [data for number, data in enumerate(made) if SIZES[number]]  # Hodge wants nodes
    made.append(made[0])
    dataset = Stored(made)[index]
    check_from_cache(dataset, tmp_path, CACHED)
    check_from_cache(dataset, tmp_path, CACHED[:3], CACHED[3:])
    inner = encode(dataset, CACHED[:3], cache_dir=tmp_path)[[4, 1, 1, 0]]
    for folder in (tmp_path, None):
        outer = encode(inner, CACHED[3:], cache_dir=folder)
        check(outer, [0, 3, 1, 2])
    unmapped = encode(encode(Stored(made), CACHED[:3])[index], CACHED[3:], cache_dir=tmp_path)
    check(unmapped, [2, 0, 1])


def test_batches_survive_what_is_done_to_batches() -> None:
    made = with_each(name=lambda i, n: str(i))
    numbers = torch.tensor([3, 0, 2])
    ours = CollatedGraphs.of(made).batch(numbers)
    theirs = Batch.from_data_list([made[number] for number in numbers])
    assert_same_batch(pickle.loads(pickle.dumps(ours)), pickle.loads(pickle.dumps(theirs)))
    assert_same_batch(ours.clone(), theirs.clone())
    assert_same_batch(ours.to("cpu"), theirs.to("cpu"))
    assert [data.name for data in ours.index_select([2, 0])] == ["2", "3"]
    assert AddRandomWalkPE(3)(ours)[0].random_walk_pe.shape == (SIZES[3], 3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_can_be_pinned_and_moved() -> None:
    made = graphs()
    ours = CollatedGraphs.of(made).batch(torch.tensor([3, 0, 2]))
    assert ours.pin_memory().x.is_pinned()
    theirs = Batch.from_data_list([made[3], made[0], made[2]])
    assert_same_batch(ours.to("cuda").to("cpu"), theirs)
    on_device = Stored(made).to("cuda")
    assert CollatedGraphs.of(on_device).batch(torch.tensor([1, 0])).batch.is_cuda


def test_a_batch_shares_no_memory_with_the_storage() -> None:
    dataset = Stored(graphs())
    batch = CollatedGraphs.of(dataset).batch(torch.arange(len(dataset)))
    batch.x.zero_()
    assert dataset[0].x.abs().sum() > 0


def test_memory_mapped_storage(tmp_path) -> None:
    """Columns stay on disk; of them a batch reads its rows."""
    data, slices = InMemoryDataset.collate(graphs())
    for name, value in list(data._store.items()):
        file = tmp_path / name
        file.write_bytes(value.contiguous().numpy().tobytes())
        mapped = np.memmap(file, dtype=value.numpy().dtype, mode="r+", shape=tuple(value.shape))
        data[name] = torch.from_numpy(mapped)
    ours = CollatedGraphs(data, slices).batch(torch.tensor([3, 0, 0, 7]))
    made = graphs()
    assert_same_batch(ours, Batch.from_data_list([made[number] for number in (3, 0, 0, 7)]))


# --- what PyG has to do ---------------------------------------------------------------------------


class OwnIncrement(Data):
    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 100 if key == "root" else super().__inc__(key, value, *args, **kwargs)


class OwnGet(Stored):
    def get(self, idx: int) -> Data:
        data = super().get(idx)
        data.x = data.x + 1
        return data


def hetero() -> HeteroData:
    data = HeteroData()
    data["atom"].x = torch.ones(3, 1)
    return data


REFUSED = {
    "own class": ([OwnIncrement(num_nodes=2), OwnIncrement(num_nodes=3)], "OwnIncrement"),
    "own class later": (
        [Data(num_nodes=2), OwnIncrement(num_nodes=3)],
        "graph 1 is a OwnIncrement",
    ),
    "own class stored": (
        Stored([OwnIncrement(x=torch.ones(n)) for n in (2, 3)]),
        "OwnIncrement objects",
    ),
    "own get": (OwnGet(graphs()), "OwnGet has a get of its own"),
    "transform": (Stored(graphs(), transform=lambda data: data), "Stored has a transform"),
    "hetero": ([hetero(), hetero()], "HeteroData"),
    "hetero stored": (Stored([hetero(), hetero()]), "HeteroData"),
    "one graph": (graphs()[:1], "single graph"),
    "one stored": (Stored(graphs()[:1]), "single graph"),
    "attributes": ([Data(num_nodes=1), Data(num_nodes=1, y=1)], "graph 1 has other attributes"),
    "widths": ([Data(x=torch.ones(1, 2)), Data(x=torch.ones(1, 3))], "'x' of one graph"),
    "dtypes": ([Data(x=torch.ones(1)), Data(x=torch.ones(1).long())], "'x' of one graph"),
    "kinds": ([Data(num_nodes=1, y=1), Data(num_nodes=1, y=1.0)], "'y' of one graph"),
    "sparse": ([Data(x=torch.eye(2).to_sparse())] * 2, "'x'"),
    "dictionary": ([Data(num_nodes=1, y={"a": torch.ones(1)})] * 2, "'y' is a dict"),
    "list of tensors": ([Data(num_nodes=1, y=[torch.ones(1)])] * 2, "'y'"),
    "array": ([Data(num_nodes=1, y=np.ones(1))] * 2, "'y'"),
    "parameter": ([Data(x=torch.nn.Parameter(torch.ones(1)))] * 2, "'x' is a Parameter"),
    "learned": ([Data(x=torch.ones(1, requires_grad=True))] * 2, "'x' is learned"),
    "edge index": ([Data(edge_index=EdgeIndex([[0], [1]]), num_nodes=2)] * 2, "is a EdgeIndex"),
    "batch": ([Data(num_nodes=1, my_batch=torch.zeros(1).long())] * 2, "'my_batch'"),
    "ptr": ([Data(num_nodes=1, ptr=torch.zeros(1).long())] * 2, "'ptr'"),
    "size unknown": ([Data(edge_index=torch.zeros(2, 1).long())] * 2, "how many nodes"),
    "half": ([Data(num_nodes=1, a_index=torch.ones(1).half())] * 2, "in torch.float16"),
    "flag": ([Data(num_nodes=1, some_index=True)] * 2, "'some_index' is a bool"),
    "batch already": ([Batch.from_data_list(graphs())] * 2, "DataBatch"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_pyg_has_to_do(kind: str) -> None:
    made, message = REFUSED[kind]
    with pytest.raises(NotCollatable, match=message) as error:
        CollatedGraphs.of(made)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["node_count", "num_nodes2", "anode"])
@pytest.mark.parametrize("value", [3, 2.5, True])
def test_numbers_that_are_called_nodes_do_not_count_them(name: str, value: float) -> None:
    """PyG looks at tensors alone; put together, the numbers are one."""
    edges = torch.tensor([[0, 1], [1, 2]])
    graphs = [Data(**{name: value}, edge_index=edges) for _ in range(3)]
    batch, wanted = GraphBatches(graphs)[[0, 1, 2]], Batch.from_data_list(graphs)
    assert torch.equal(batch.edge_index, wanted.edge_index)
    assert torch.equal(batch.batch, wanted.batch)
