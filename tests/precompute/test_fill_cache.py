"""fill_cache: what graphpe.encode needs is there afterwards; shares; memory; datasets that were encoded before."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from pathlib import Path

import pytest
import torch
from graph_zoo import zoo
from torch_geometric.data import Data, Dataset, HeteroData

import graphpe
from graphpe.data import OGBGraphs
from graphpe.precompute import EncodedDataset, Share, fill_cache
from graphpe.precompute.cache import entry, plan
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddShortestPathPE,
)

MOLECULES = Path(__file__).resolve().parents[2] / "datasets" / "bundled"
ENCODINGS = [AddLaplacianEigenvectorPE(3), AddRandomWalkPE(4)]


@pytest.fixture
def molecules() -> OGBGraphs:
    return OGBGraphs("ogbg-molesol", root=MOLECULES)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Numbers of graphs that were computed, by encoding."""
    counts: Counter[str] = Counter()
    module = importlib.import_module("graphpe.precompute.computing")
    original = module.compute_fields

    def counting(graphs, encodings, **options):
        counts.update({type(each).__name__: len(graphs) for each in encodings})
        return original(graphs, encodings, **options)

    monkeypatch.setattr(module, "compute_fields", counting)
    return counts


class OnAccess(Dataset):
    """A dataset that makes its graphs when asked, and knows how often."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def len(self) -> int:
        return len(zoo())

    def get(self, idx: int) -> Data:
        self.read += 1
        return list(zoo().values())[idx]


def contents(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def assert_same(got, expected) -> None:
    for one, other in zip(got, expected, strict=True):
        for own, wanted in zip(one.stores, other.stores, strict=True):
            assert set(own.keys()) == set(wanted.keys())
            for name, value in wanted.items():
                assert torch.equal(torch.as_tensor(own[name]), torch.as_tensor(value)), name


def hetero_graphs() -> list[HeteroData]:
    data = HeteroData()
    data["author"].num_nodes, data["paper"].num_nodes = 3, 4
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 3]])
    return [data, data]


@pytest.mark.parametrize(
    "make",
    [
        lambda: OGBGraphs("ogbg-molesol", root=MOLECULES)[[5, 3, 900]],
        lambda: list(zoo().values()),
        OnAccess,
        hetero_graphs,
    ],
    ids=["in memory", "list", "other", "hetero"],
)
def test_encode_finds_all_that_was_computed(make, tmp_path: Path, computed) -> None:
    report = fill_cache(make(), ENCODINGS, cache_dir=tmp_path, progress=False)
    assert report.num_graphs == report.encoded == len(make())
    assert [(each.computed, each.present) for each in report.entries] == [(1, 1), (1, 1)]
    for each in report.entries:
        assert each.bytes == sum(path.stat().st_size for path in each.folder.glob("*.safetensors"))
    computed.clear()
    again = fill_cache(make(), ENCODINGS, cache_dir=tmp_path, progress=False)
    assert [(each.computed, each.present) for each in again.entries] == [(0, 1), (0, 1)]
    assert again.encoded == 0
    encoded = graphpe.encode(make(), ENCODINGS, cache_dir=tmp_path)
    assert not computed
    assert_same(encoded, graphpe.encode(make(), ENCODINGS))


def test_shares_fill_one_entry(
    tmp_path: Path, molecules, computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 100)
    fill_cache(molecules, ENCODINGS, cache_dir=tmp_path / "whole", progress=False)
    computed.clear()
    found = []
    for number in (3, 1, 2):
        share = Share(number, 3)
        report = fill_cache(
            molecules, ENCODINGS, cache_dir=tmp_path / "shares", share=share, progress=False
        )
        found.append((report.encoded, report.entries[0].computed, report.missing))
        manifests = list(tmp_path.glob("shares/*/*/manifest.json"))
        assert len(manifests) == (2 if number == 2 else 0)
    assert found == [
        (328, 4, (Share(1, 3), Share(2, 3))),
        (400, 4, (Share(2, 3),)),
        (400, 4, ()),
    ]
    assert computed["AddRandomWalkPE"] == len(molecules)
    locks = {path for path in contents(tmp_path / "shares") if path.name.startswith(".lock")}
    shares = {
        path: content
        for path, content in contents(tmp_path / "shares").items()
        if path not in locks
    }
    whole = contents(tmp_path / "whole")
    assert shares == {path: whole[path] for path in shares}
    assert any(path.suffix == ".safetensors" for path in shares)


def test_more_shares_than_ranges(tmp_path: Path, molecules) -> None:
    report = fill_cache(
        molecules[:5], ENCODINGS, cache_dir=tmp_path, share=Share(2, 2), progress=False
    )
    assert (report.encoded, report.missing) == (0, (Share(1, 2),))


def test_failures_are_reported(tmp_path: Path) -> None:
    graphs = [*zoo().values()]
    graphs[2] = Data(edge_index=torch.tensor([[0], [9]]), num_nodes=2)
    graphs.append(Data(edge_index=torch.zeros(2, 1, dtype=torch.long), num_nodes=700))
    encodings = [AddRandomWalkPE(2), AddShortestPathPE(3)]
    report = fill_cache(
        graphs,
        encodings,
        cache_dir=tmp_path,
        memory_budget=2**24,
        on_error="skip",
        progress=False,
    )
    last = len(graphs) - 1
    assert [set(each.failures) for each in report.entries] == [{2}, {2, last}]
    assert list(report.failures) == [2, last]
    assert f"graph {last} has 700 nodes" in report.failures[last]
    with pytest.raises(ValueError, match="edge_index of graph 2"):
        fill_cache(graphs, encodings, cache_dir=tmp_path, progress=False)


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        ("zinc", {}, "got a str"),
        (Data(), {}, "a single Data"),
        ([Data()], {"device": "abacus"}, "device is 'abacus'; it must be"),
        ([Data()], {"device": "mtia:7"}, "device is 'mtia:7', which this machine lacks"),
        ([Data()], {"on_error": "ignore"}, "on_error is 'ignore'"),
        (hetero_graphs(), {"on_error": "skip"}, "the graphs are HeteroData"),
    ],
)
def test_wrong_arguments_are_named(dataset, options: dict, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with pytest.raises((TypeError, ValueError), match=message):
        fill_cache(dataset, ENCODINGS, cache_dir=folder, **options)
    assert not folder.exists()


# --- memory ----------------------------------------------------------------------------------------------------------


def test_a_memory_budget_bounds_values_and_what_waits_to_be_written(
    tmp_path: Path, molecules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SHARD_BYTES", 2**17)
    encodings = [AddRelativeRandomWalkPE(8), AddRandomWalkPE(4)]
    fill_cache(molecules, encodings, cache_dir=tmp_path / "free", progress=False)
    budget = 2**21
    module = importlib.import_module("graphpe.precompute.computing")
    original, write = module.compute_fields, entry.write
    made, held, written = [], [], []

    def computing(graphs, wanted, **options):
        assert options["memory_budget"] == budget - 2 * (budget // 3)
        values = original(graphs, wanted, **options)
        made.append(sum(value.nbytes for own in values for value in own))
        held.append(sum(made) - sum(written))
        return values

    def slowly(folder, shard, values, failed):
        time.sleep(0.005)
        write(folder, shard, values, failed)
        written.append(sum(value.nbytes for value in values))

    monkeypatch.setattr(module, "compute_fields", computing)
    monkeypatch.setattr(entry, "write", slowly)
    fill_cache(
        molecules, encodings, cache_dir=tmp_path / "bound", memory_budget=budget, progress=False
    )
    assert 2**17 < max(made) <= budget // 3
    assert budget // 3 < max(held) <= 2 * (budget // 3)
    assert contents(tmp_path / "bound") == contents(tmp_path / "free")


def test_too_little_memory_for_a_shard_is_an_error(tmp_path: Path, molecules) -> None:
    with pytest.raises(
        ValueError, match=r"graph 0 have 7\.7 MiB of values, which take 23\.1 MiB .* has 1\.0 MiB"
    ):
        fill_cache(molecules, AddRelativeRandomWalkPE(8), cache_dir=tmp_path, memory_budget=2**20)
    assert not list(tmp_path.rglob("*.safetensors"))


# --- encode of what was encoded --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [lambda: OGBGraphs("ogbg-molesol", root=MOLECULES), OnAccess],
    ids=["in memory", "other"],
)
def test_encoding_twice_gives_the_fields_of_both(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = graphpe.encode(make(), ENCODINGS[0], cache_dir=tmp_path)
    expected = graphpe.encode(make(), ENCODINGS)
    with monkeypatch.context() as patched:
        # What was computed before is not read for what comes now.
        patched.setattr(EncodedDataset, "get", None)
        twice = graphpe.encode(once, ENCODINGS[1], cache_dir=tmp_path)
        part = graphpe.encode(once[[7, 3]], ENCODINGS[1], cache_dir=tmp_path)
    assert twice.fields == expected.fields
    assert_same(twice[:20], expected[:20])
    assert_same(part, expected[[7, 3]])


class WithFailures(OnAccess):
    """Graph 2 can't be read, and the last is too large for an encoding that is dense."""

    def len(self) -> int:
        return super().len() + 1

    def get(self, idx: int) -> Data:
        if idx == 2:
            return Data(edge_index=torch.tensor([[0], [9]]), num_nodes=2)
        if idx == super().len():
            return Data(edge_index=torch.zeros(2, 1, dtype=torch.long), num_nodes=700)
        return super().get(idx)


@pytest.mark.filterwarnings("ignore:2 of 18 graphs|1 of")
def test_failures_of_both_calls_are_kept(tmp_path: Path) -> None:
    first, then = AddRelativeRandomWalkPE(2), AddRandomWalkPE(2)
    options = {"cache_dir": tmp_path, "memory_budget": 2**24}
    once = graphpe.encode(WithFailures(), first, on_error="nan", **options)
    twice = graphpe.encode(once, then, on_error="nan", **options)
    assert set(twice.failures) == {2, 17}
    assert "700 nodes" in twice.failures[17]
    assert set(graphpe.encode(once[[17, 0]], then, **options).failures) == {0}
    once = graphpe.encode(WithFailures(), first, on_error="skip", **options)
    twice = graphpe.encode(once, then, on_error="skip", **options)
    assert len(twice) == 16
    assert (set(once.failures), twice.failures) == ({2, 17}, {})
    assert_same(twice[2:4], graphpe.encode(OnAccess()[3:5], [first, then]))
