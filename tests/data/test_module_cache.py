"""GraphDataModule with a cache: the same batches, computed once, from whatever the graphs come."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonargparse
import pytest
import torch
from code2_folder import write_code2
from lightning.pytorch import seed_everything
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset
from training_graphs import FEATURES, REGRESSION, cycles, network, quiet_trainer

from graphpe import Features, encode
from graphpe.data import (
    GraphDataModule,
    GraphSource,
    InMemorySource,
    NodeSource,
    OGBSource,
    SizeSplit,
    SplitGraphs,
)
from graphpe.nn import NodeEncoder
from graphpe.precompute import EncodedDataset
from graphpe.precompute.cache import plan
from graphpe.training import GraphPredictor
from graphpe.training.numbering import graph_order
from graphpe.training.progress import loaded_line
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, AddShortestPathPE

ENCODINGS = [AddLaplacianEigenvectorPE(3), AddRandomWalkPE(4), AddShortestPathPE()]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 7)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of graphs that were computed, call by call."""
    seen: list[int] = []
    module = importlib.import_module("graphpe.precompute.computing")
    original = module.compute_fields

    def counting(graphs: Any, encodings: Any, **options: Any) -> Any:
        seen.append(len(graphs))
        return original(graphs, encodings, **options)

    monkeypatch.setattr(module, "compute_fields", counting)
    return seen


class Stored(InMemoryDataset):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self._data, self.slices = self.collate(graphs)


class OnDisk(Dataset):
    """Graphs that are made when asked for."""

    def len(self) -> int:
        return 20

    def get(self, idx: int) -> Data:
        return cycles(20)[idx]


def split(count: int = 20) -> dict[str, torch.Tensor]:
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
    return dict(zip(("train", "valid", "test"), order.split([count - 8, 4, 4]), strict=True))


@dataclass(frozen=True)
class Cycles(GraphSource):
    """Cycles in memory, in a part of what is in memory, on disk, or as a list."""

    kind: str = "in memory"

    def load(self) -> SplitGraphs:
        makers = {
            "in memory": lambda: Stored(cycles(20)),
            "part": lambda: Stored(cycles(30))[[*range(25, 4, -1)][:20]],
            "on disk": OnDisk,
            "list": lambda: cycles(20),
        }
        return SplitGraphs(makers[self.kind](), split())


@dataclass(frozen=True)
class InBatches(Cycles):
    """A source that has no room in memory for its encodings, nor for PyG's lists of numbers."""

    encodes_batches = True

    def part(self, graphs: Dataset, index: dict[str, torch.Tensor], name: str) -> Subset:
        return Subset(graphs, index[name])


@dataclass(frozen=True)
class Encoded(Cycles):
    """A source that gives graphs of a cache of its own."""

    folder: Path = Path()

    def load(self) -> SplitGraphs:
        graphs, index = super().load()
        return SplitGraphs(encode(graphs, ENCODINGS[:1], cache_dir=self.folder), index)


@dataclass(frozen=True)
class Nodes(NodeSource):
    """Nodes of one graph."""

    def load(self) -> SplitGraphs:
        graph = Batch.from_data_list(cycles(3))
        n = graph.num_nodes
        data = Data(x=graph.x, edge_index=graph.edge_index, y=torch.arange(n))
        return SplitGraphs(
            [data],
            dict(
                zip(("train", "valid", "test"), torch.arange(n).split([n - 6, 3, 3]), strict=True)
            ),
        )


def source_of(kind: str, folder: Path) -> GraphSource:
    if kind == "subtokens":
        write_code2(folder)
        return OGBSource("ogbg-code2", folder)
    if kind == "three lists":
        return InMemorySource(cycles(12), cycles(4, seed=1), cycles(4, seed=2))
    return {
        "in batches": InBatches(),
        "nodes": Nodes(),
        "by size": SizeSplit(source=Cycles(), small_fraction=0.6),
    }.get(kind) or Cycles(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "in memory",
        "part",
        "on disk",
        "list",
        "three lists",
        "in batches",
        "nodes",
        "by size",
        "subtokens",
    ],
)
def test_the_batches_are_those_without_a_cache(
    kind: str, tmp_path: Path, computed: list[int]
) -> None:
    source = source_of(kind, tmp_path)
    plain = GraphDataModule(source, ENCODINGS, batch_size=3, seed=5)
    plain.setup()
    for run in range(2):
        computed.clear()
        data = GraphDataModule(
            source, ENCODINGS, batch_size=3, seed=5, cache_dir=tmp_path / "cache"
        )
        data.prepare_data()
        data.setup("fit")
        assert bool(computed) is (run == 0)
        assert data.encoding_seconds > 0
        assert not data.encodes_batches
        assert "which are encoded in batches" not in loaded_line(data)
        assert (data.fields, data.num_graphs) == (plain.fields, plain.num_graphs)
        for part in ("train_dataloader", "val_dataloader", "test_dataloader"):
            ours, theirs = getattr(data, part)(), getattr(plain, part)()
            for one, other in zip(ours, theirs, strict=True):
                assert_same(one, other)
            if part != "train_dataloader":
                assert torch.equal(graph_order(ours), graph_order(theirs))


def assert_same(one: Batch, other: Batch) -> None:
    assert set(one.keys()) == set(other.keys())
    for name, value in other._store.items():
        if isinstance(value, torch.Tensor):
            assert one[name].dtype == value.dtype
            assert torch.equal(one[name].nan_to_num(-7), value.nan_to_num(-7)), name
        else:
            assert one[name] == value


def test_graphs_of_a_source_with_a_cache_of_its_own(tmp_path: Path) -> None:
    source = Encoded("in memory", tmp_path / "of the source")
    data = GraphDataModule(
        source, ENCODINGS[1:], 3, features=FEATURES, cache_dir=tmp_path / "other"
    )
    data.setup()
    assert set(data.fields) == set(GraphDataModule(Cycles(), ENCODINGS).fields)
    plain = GraphDataModule(Cycles(), ENCODINGS, 3)
    plain.setup()
    for one, other in zip(data.test_dataloader(), plain.test_dataloader(), strict=True):
        assert_same(one, other)
    assert isinstance(data.parts["train"], EncodedDataset)
    wrong = GraphDataModule(source, features=Features(node_categories=(2,)))
    with pytest.raises(ValueError, match=r"x of graph \d+ has the value"):
        wrong.setup()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_parts_in_memory_are_put_together_from_the_files(tmp_path: Path, num_workers: int) -> None:
    data = GraphDataModule(
        Cycles(), ENCODINGS, 3, num_workers, bucket_by_size=True, cache_dir=str(tmp_path)
    )
    data.setup()
    assert all(part.reason is None for part in data._batches.values())
    assert sum(batch.num_graphs for batch in data.train_dataloader()) == 12


def test_the_cache_of_one_process_is_filled_before_the_others_read(
    tmp_path: Path, computed: list[int]
) -> None:
    """Lightning has all but one process of a machine wait while `prepare_data` runs."""
    first = GraphDataModule(Cycles(), ENCODINGS, cache_dir=tmp_path)
    first.prepare_data()
    assert sum(computed) == 20
    parts = first.parts
    first.setup()
    assert first.parts is parts
    other = GraphDataModule(Cycles(), ENCODINGS, cache_dir=tmp_path)
    other.setup()
    assert sum(computed) == 20


def test_without_a_cache_nothing_is_encoded_ahead_of_setup(computed: list[int]) -> None:
    data = GraphDataModule(Cycles(), ENCODINGS)
    data.prepare_data()
    assert not computed
    assert not data.parts


def test_training_twice_with_a_cache(tmp_path: Path, computed: list[int]) -> None:
    """The second run computes nothing, and both end where a run without a cache ends."""

    def train(cache_dir: Path | None) -> dict[str, Any]:
        seed_everything(3)
        data = GraphDataModule(Cycles(), [AddRandomWalkPE(4)], 4, cache_dir=cache_dir)
        model = GraphPredictor(network(encoders=[NodeEncoder(4, 8)]), REGRESSION)
        trainer = quiet_trainer(tmp_path)
        trainer.fit(model, data)
        tested = trainer.test(model, data, verbose=False)
        return {"tested": tested, **model.state_dict()}

    wanted = train(None)
    assert computed
    for run in range(2):
        computed.clear()
        got = train(tmp_path / "cache")
        assert bool(computed) is (run == 0)
        assert got.pop("tested") == wanted["tested"]
        assert all(torch.equal(value, wanted[name]) for name, value in got.items())


def test_the_folder_in_a_configuration(tmp_path: Path) -> None:
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(GraphDataModule, "data")
    given = ["--data.dataset", "OGBSource", "--data.dataset.name", "ogbg-molesol"]
    for words, wanted in (
        ([], None),
        (["--data.cache_dir", "null"], None),
        (["--data.cache_dir", str(tmp_path)], tmp_path),
    ):
        config = parser.parse_args([*given, *words])
        assert parser.parse_string(parser.dump(config)) == config
        cache_dir = parser.instantiate(config).data.cache_dir
        assert (cache_dir if cache_dir is None else Path(cache_dir)) == wanted


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    data = GraphDataModule(Cycles(), ENCODINGS, cache_dir=tmp_path / "file")
    data.prepare_data()  # says nothing, so that all processes of a distributed training come to `setup`
    with pytest.raises(ValueError, match=r"cannot write to .*file") as error:
        data.setup()
    assert "\n" not in str(error.value)
