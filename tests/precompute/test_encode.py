"""encode: every kind of dataset comes back as it was, with the same fields as from the transform."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from graph_zoo import graph, zoo
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import AddRandomWalkPE as PygWalks
from torch_geometric.transforms import Compose

import graphpe
from graphpe.precompute import EncodedDataset
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

ENCODINGS = [AddLaplacianEigenvectorPE(4), AddRandomWalkPE(6)]
NAMES = [field.name for encoding in ENCODINGS for field in encoding.fields()]


def graphs_with_features() -> list[Data]:
    graphs = list(zoo().values())
    for number, data in enumerate(graphs):
        data.x = torch.full((data.num_nodes, 2), float(number))
        data.y = torch.tensor([number])
        del data.num_nodes
    return graphs


class InMemory(InMemoryDataset):
    def __init__(self, graphs: list[Data], transform=None) -> None:
        super().__init__(transform=transform)
        self.data, self.slices = self.collate(graphs)
        self.note = "kept"


class OnAccess(Dataset):
    """A dataset that makes its graphs when asked, as one on disk does."""

    def __init__(self) -> None:
        super().__init__()
        self.note = "kept"

    def len(self) -> int:
        return len(zoo())

    def get(self, idx: int) -> Data:
        return graphs_with_features()[idx]


def encoded_one_by_one(data: Data) -> Data:
    for encoding in ENCODINGS:
        data = encoding(data)
    return data


def assert_same(got: Data, expected: Data) -> None:
    assert set(got.keys()) == set(expected.keys())
    for key, value in expected.to_dict().items():
        assert torch.equal(torch.as_tensor(got[key]), torch.as_tensor(value)), key


@pytest.mark.parametrize(
    "make", [InMemory, list, lambda graphs: OnAccess()], ids=["in memory", "list", "other"]
)
def test_every_graph_has_the_fields_of_the_transform(make) -> None:
    graphs = graphs_with_features()
    encoded = graphpe.encode(make(graphs), ENCODINGS)
    assert len(encoded) == len(graphs)
    for got, data in zip(encoded, graphs, strict=True):
        assert_same(got, encoded_one_by_one(data))


@pytest.mark.parametrize(
    "make", [lambda: InMemory(graphs_with_features()), OnAccess], ids=["in memory", "other"]
)
def test_it_indexes_and_slices_like_the_original(make) -> None:
    original = make()
    encoded = graphpe.encode(original, ENCODINGS)
    mask = torch.arange(len(original)) % 3 == 0
    for index in (slice(2, 9, 3), [5, 1, 1], torch.tensor([4, 0]), mask, slice(None, None, -1)):
        for got, data in zip(encoded[index], original[index], strict=True):
            assert_same(got, encoded_one_by_one(data))
    assert_same(encoded[-1], encoded_one_by_one(original[-1]))
    assert encoded.note == "kept"
    with pytest.raises(AttributeError):
        _ = encoded.nothing_of_the_kind


def test_the_class_and_the_tensors_are_those_of_the_original() -> None:
    original = InMemory(graphs_with_features())
    encoded = graphpe.encode(original, ENCODINGS)
    assert type(encoded) is InMemory
    assert encoded._data.x.data_ptr() == original._data.x.data_ptr()
    assert not any(name in original._data for name in NAMES)
    assert not any(name in original.slices for name in NAMES)
    assert set(encoded.fields) == set(NAMES)
    assert encoded[:3].fields == encoded.fields


@pytest.mark.parametrize("order", [[2, 5, 9], [9, 2, 5], [7, 7, 3], [0], []])
def test_a_subset_is_encoded_alone(order: list[int]) -> None:
    subset = InMemory(graphs_with_features())[order]
    if not order:
        with pytest.raises(ValueError, match="empty dataset"):
            graphpe.encode(subset, ENCODINGS)
        return
    encoded = graphpe.encode(subset, ENCODINGS)
    assert len(encoded) == len(order)
    for got, data in zip(encoded, subset, strict=True):
        assert_same(got, encoded_one_by_one(data))
    assert encoded._data.random_walk_pe.shape[0] == sum(
        subset[i].num_nodes for i in range(len(set(order)))
    ) or (order == [7, 7, 3])


@pytest.mark.parametrize("order", [None, [9, 2, 5]])
def test_concatenation_to_x(order: list[int] | None) -> None:
    dataset = InMemory(graphs_with_features())
    dataset = dataset if order is None else dataset[order]
    joining = AddRandomWalkPE(3, attr_name=None)
    encoded = graphpe.encode(dataset, [joining])
    for got, data in zip(encoded, dataset, strict=True):
        assert_same(got, joining(data))
    assert encoded.fields == {}


def test_concatenation_where_there_is_no_x() -> None:
    graphs = list(zoo().values())
    encoded = graphpe.encode(InMemory(graphs), AddRandomWalkPE(3, attr_name=None))
    for got, data in zip(encoded, graphs, strict=True):
        assert torch.equal(got.x, AddRandomWalkPE(3)(data).random_walk_pe)


def test_a_dataset_of_one_graph() -> None:
    encoded = graphpe.encode(InMemory(graphs_with_features()[7:8]), ENCODINGS)
    assert len(encoded) == 1
    assert_same(encoded[0], encoded_one_by_one(graphs_with_features()[7]))


def test_fields_of_an_earlier_encode_are_kept() -> None:
    once = graphpe.encode(InMemory(graphs_with_features()), ENCODINGS[0])
    twice = graphpe.encode(once, ENCODINGS[1])
    assert set(twice.fields) == set(NAMES)
    assert_same(twice[4], encoded_one_by_one(graphs_with_features()[4]))


def test_batches_from_a_loader() -> None:
    encoded = graphpe.encode(InMemory(graphs_with_features()), ENCODINGS)
    for workers in (0, 1):
        batch = next(iter(DataLoader(encoded, batch_size=7, num_workers=workers)))
        expected = Batch.from_data_list(
            [encoded_one_by_one(data) for data in graphs_with_features()[:7]]
        )
        for name in NAMES:
            assert torch.equal(batch[name], expected[name])


@pytest.mark.parametrize("options", [{"workers": 1}, {"workers": 3}, {"memory_budget": 2**18}])
def test_the_bytes_do_not_depend_on_workers_or_budget(options: dict) -> None:
    dataset = InMemory(graphs_with_features())
    expected = graphpe.encode(dataset, ENCODINGS)._data
    got = graphpe.encode(dataset, ENCODINGS, **options)._data
    for name in NAMES:
        assert torch.equal(got[name], expected[name])


def test_kernels_leave_the_thread_count_as_it_was() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        graphpe.encode(InMemory(graphs_with_features()), ENCODINGS, workers=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_transform_still_runs_and_is_mentioned() -> None:
    def add_flag(data: Data) -> Data:
        data.flag = 1
        return data

    with pytest.warns(
        UserWarning, match="has a transform, which runs on each access after the encodings"
    ):
        encoded = graphpe.encode(InMemory(graphs_with_features(), add_flag), ENCODINGS)
    assert encoded[3].flag == 1
    assert "random_walk_pe" in encoded[3]


def test_no_progress_bar_without_a_terminal(capfd) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphpe.encode(InMemory(graphs_with_features()), ENCODINGS)
    assert capfd.readouterr() == ("", "")


def test_two_encodings_may_not_write_the_same_field() -> None:
    twice = [AddLaplacianEigenvectorPE(2), AddLaplacianEigenvectorPE(3)]
    with pytest.raises(
        ValueError, match=r"both write 'laplacian_eigenvector_pe'; give one of them another"
    ):
        graphpe.encode(graphs_with_features(), twice)


def test_a_bad_graph_is_named_and_the_dataset_stays_as_it_was() -> None:
    graphs = graphs_with_features()
    graphs[11] = Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0], [9]]), y=torch.tensor([0]))
    for dataset in (InMemory(graphs), graphs):
        before = copy.copy(dataset)
        with pytest.raises(ValueError, match=r"edge_index of graph 11 has the edge \[0, 9\]"):
            graphpe.encode(dataset, ENCODINGS)
        assert len(before) == len(dataset)


@pytest.mark.parametrize(
    ("dataset", "encodings", "message"),
    [
        ("zinc", ENCODINGS, "encode got a str; wanted a torch_geometric Dataset or a list"),
        (Subset([1], [0]), ENCODINGS, "encode got a Subset"),
        (graph(3), ENCODINGS, "got a single Data; call the encoding on it"),
        (Batch.from_data_list([graph(3)]), ENCODINGS, "got a Batch; call the encoding on it"),
        (
            [graph(3)],
            ["AddRandomWalkPE"],
            r"encodings\[0\] is a str; it must be an encoding such as",
        ),
        ([graph(3)], AddRandomWalkPE, "encodings is the class AddRandomWalkPE; give an instance"),
        (
            [graph(3)],
            [PygWalks(4)],
            r"encodings\[0\] is a AddRandomWalkPE of torch_geometric\..*graphpe.transforms",
        ),
        ([graph(3)], Compose([AddRandomWalkPE(4)]), "give the list in it, .transforms"),
        ([graph(3)], [AddRandomWalkPE], r"encodings\[0\] is the class AddRandomWalkPE"),
        ([graph(3)], None, "encodings is a NoneType"),
        ([graph(3), None], ENCODINGS, "graph 1 is a NoneType"),
    ],
)
def test_wrong_kinds_are_named(dataset, encodings, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        graphpe.encode(dataset, encodings)


def test_wrong_values_are_named() -> None:
    with pytest.raises(ValueError, match="empty list of graphs"):
        graphpe.encode([], ENCODINGS)
    for name, value in (
        ("workers", 0),
        ("workers", 1.5),
        ("memory_budget", 0),
        ("memory_budget", "64MB"),
    ):
        with pytest.raises(ValueError, match=f"{name} is {value!r}; it must be an integer >= 1"):
            graphpe.encode(graphs_with_features(), ENCODINGS, **{name: value})
    bad = graphs_with_features()
    bad[3].x = bad[3].x.long()
    with pytest.raises(ValueError, match=r"x of graph 3 is torch.int64"):
        graphpe.encode(bad, AddRandomWalkPE(2, attr_name=None))


def test_other_datasets_are_wrapped() -> None:
    encoded = graphpe.encode(OnAccess(), ENCODINGS)
    assert isinstance(encoded, EncodedDataset)
    assert repr(encoded).startswith("EncodedDataset(OnAccess(17)")
    assert set(encoded.fields) == set(NAMES)


def test_random_walks_are_in_pyg_order_on_real_molecules(repository, tmp_path) -> None:
    """The bundled molecules, through the class of OGB that graphpe wraps."""
    import shutil

    from graphpe.data import OGBGraphs

    shutil.copytree(repository / "datasets" / "bundled", tmp_path / "ogb")
    dataset = OGBGraphs("ogbg-molesol", tmp_path / "ogb")
    encoded = graphpe.encode(dataset, ENCODINGS)
    assert type(encoded) is type(dataset)
    assert len(encoded) == 1128
    for number in (0, 500, 1127):
        assert_same(encoded[number], encoded_one_by_one(dataset[number]))


# --- what a tester broke -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [InMemory, list], ids=["in memory", "list"])
@pytest.mark.parametrize("first", [True, False])
def test_one_encoding_may_go_to_x_and_one_of_the_same_class_to_an_attribute(
    make, first: bool
) -> None:
    joining, named = AddRandomWalkPE(2, attr_name=None), AddRandomWalkPE(3)
    encodings = [joining, named] if first else [named, joining]
    for got, data in zip(
        graphpe.encode(make(graphs_with_features()), encodings), graphs_with_features(), strict=True
    ):
        assert torch.equal(got.x, joining(data).x)
        assert torch.equal(got.random_walk_pe, named(data).random_walk_pe)


def test_a_dataset_of_one_graph_taken_twice() -> None:
    encoded = graphpe.encode(InMemory([zoo()["path"]])[[0, 0]], ENCODINGS)
    assert len(encoded) == 2
    for got in encoded:
        assert torch.equal(got.random_walk_pe, ENCODINGS[1](zoo()["path"]).random_walk_pe)


def test_a_list_keeps_its_fields_also_in_slices() -> None:
    encoded = graphpe.encode(graphs_with_features(), ENCODINGS)
    assert isinstance(encoded, list)
    assert set(encoded[2:5].fields) == set(NAMES)
    assert len(encoded[2:5]) == 3
    assert set(
        graphpe.encode(graphpe.encode(list(zoo().values()), ENCODINGS[0]), ENCODINGS[1]).fields
    ) == set(NAMES)


@pytest.mark.parametrize("make", [list, lambda graphs: OnAccess()], ids=["list", "other"])
def test_one_encoded_graph_does_not_hold_the_rows_of_all(make) -> None:
    data = graphpe.encode(make(graphs_with_features()), ENCODINGS)[3]
    for name in NAMES:
        assert (
            data[name].untyped_storage().nbytes() == data[name].numel() * data[name].element_size()
        )


@pytest.mark.parametrize("workers", [1, 2])
def test_in_inference_mode(workers: int) -> None:
    expected = graphpe.encode(graphs_with_features(), ENCODINGS)
    with torch.inference_mode():
        encoded = graphpe.encode(graphs_with_features(), ENCODINGS, workers=workers)
    for got, data in zip(encoded, expected, strict=True):
        assert torch.equal(got.random_walk_pe, data.random_walk_pe)


def test_overlapping_calls_leave_the_thread_counts_as_they_were() -> None:
    import threading

    from threadpoolctl import threadpool_info

    def blas() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    before = torch.get_num_threads(), blas()
    torch.set_num_threads(2)
    data = zoo()["large"]
    AddRandomWalkPE(4)(data)
    tasks = [
        threading.Thread(
            target=lambda walk: [walk(data) for _ in range(20)],
            args=(AddRandomWalkPE(4, dense_limit=limit),),
        )
        for limit in (10, 500, 10, 500)
    ]
    try:
        for task in tasks:
            task.start()
        for task in tasks:
            task.join()
        seen = []
        late = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        late.start()
        late.join()
        assert seen == [2]
        assert torch.get_num_threads() == 2
        assert blas() == before[1]
    finally:
        torch.set_num_threads(before[0])
