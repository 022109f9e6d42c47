"""encode with a cache: the same bytes, nothing computed twice, damage found, and nothing lost to a kill."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
import torch
from graph_zoo import graph, zoo
from torch_geometric.data import Data, HeteroData

import graphpe
from graphpe import GraphBatch
from graphpe.cli.widths import example
from graphpe.data import OGBGraphs
from graphpe.precompute.cache import plan
from graphpe.precompute.cache.keys import fingerprint, key, settings_of
from graphpe.transforms import (
    AddEffectiveResistancePE,
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    AddRandomWalkPE,
    AddShortestPathPE,
    Encoding,
    all_encodings,
)

MOLECULES = Path(__file__).resolve().parents[2] / "datasets" / "bundled"
ENCODINGS = [AddLaplacianEigenvectorPE(4), AddRandomWalkPE(6), AddMagneticLaplacianPE(3)]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 5)


@pytest.fixture
def computed(monkeypatch) -> list[tuple[int, int, list[str]]]:
    """What was computed: first graph, number of graphs and encodings."""
    seen = []
    module = importlib.import_module("graphpe.precompute.computing")
    original = module.compute_fields

    def counting(graphs, encodings, **options):
        seen.append((graphs.first, len(graphs), [type(e).__name__ for e in encodings]))
        return original(graphs, encodings, **options)

    monkeypatch.setattr(module, "compute_fields", counting)
    return seen


def graphs() -> list:
    return list(zoo().values())


def assert_same(got, expected) -> None:
    for one, other in zip(got, expected, strict=True):
        assert set(one.keys()) == set(other.keys())
        for name in other.keys():  # noqa: SIM118
            if torch.is_tensor(other[name]):
                assert one[name].dtype == other[name].dtype
                assert torch.equal(one[name], other[name]), name


def test_the_cache_gives_the_same_bytes(tmp_path: Path, computed) -> None:
    expected = graphpe.encode(graphs(), ENCODINGS)
    computed.clear()
    assert_same(graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path), expected)
    assert computed
    computed.clear()
    assert_same(graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path), expected)
    assert not computed


def test_one_more_encoding_computes_just_that(tmp_path: Path, computed) -> None:
    graphpe.encode(graphs(), ENCODINGS[:2], cache_dir=tmp_path)
    computed.clear()
    graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path)
    assert {name for *_, names in computed for name in names} == {"AddMagneticLaplacianPE"}
    computed.clear()
    graphpe.encode(graphs(), [AddRandomWalkPE(7)], cache_dir=tmp_path)
    assert computed
    computed.clear()
    graphpe.encode(graphs(), [AddRandomWalkPE(7, "another_name")], cache_dir=tmp_path)
    assert not computed


def test_a_changed_edge_or_weight_is_another_dataset(tmp_path: Path, computed) -> None:
    graphpe.encode(graphs(), ENCODINGS[1], cache_dir=tmp_path)
    changed = graphs()
    index = next(n for n, data in enumerate(changed) if data.num_edges > 1)
    changed[index] = changed[index].clone()
    changed[index].edge_index[:, 0] = changed[index].edge_index[:, 1]
    computed.clear()
    graphpe.encode(changed, ENCODINGS[1], cache_dir=tmp_path)
    assert computed


@pytest.mark.parametrize("damage", ["flipped", "truncated", "removed"])
def test_a_damaged_shard_is_named_and_computed_anew(tmp_path: Path, computed, damage: str) -> None:
    expected = graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path)
    path = sorted(tmp_path.glob("*/AddRandomWalkPE-*/*.safetensors"))[1]
    content = bytearray(path.read_bytes())
    if damage == "removed":
        path.unlink()
    else:
        content[-3] ^= 4
        path.write_bytes(content[:-8] if damage == "truncated" else content)
    computed.clear()
    with pytest.warns(UserWarning, match=rf"{path.name}.*computed anew"):
        got = graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path)
    assert_same(got, expected)
    assert computed == [(5, 5, ["AddRandomWalkPE"])]


def test_a_part_of_a_dataset_in_memory(tmp_path: Path) -> None:
    part = OGBGraphs("ogbg-molesol", root=MOLECULES)[[5, 3, 3, 900]]
    for _ in range(2):
        got = graphpe.encode(part, ENCODINGS, cache_dir=tmp_path)
        assert_same(got, graphpe.encode(part, ENCODINGS))


def test_heterogeneous_graphs_whose_edges_are_in_another_order(tmp_path: Path) -> None:
    every = []
    for shift in (1, 2):
        data = HeteroData()
        data["author"].num_nodes, data["paper"].num_nodes = 3, 4
        data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 2], [0, shift, 3]])
        data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 3], [shift, 1]])
        every.append(data)
    encodings = [AddRandomWalkPE(3), AddEffectiveResistancePE(level="edge")]
    expected = graphpe.encode(every, encodings)
    for _ in range(2):
        for got, wanted in zip(
            graphpe.encode(every, encodings, cache_dir=tmp_path), expected, strict=True
        ):
            for kind in (*wanted.node_types, *wanted.edge_types):
                assert list(got[kind].keys()) == list(wanted[kind].keys())
                for name, value in wanted[kind].items():
                    assert torch.equal(torch.as_tensor(got[kind][name]), torch.as_tensor(value)), (
                        name
                    )


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    with pytest.raises(ValueError, match=r"cannot write to .*cache") as error:
        graphpe.encode(graphs(), ENCODINGS, cache_dir=tmp_path / "cache")
    assert "\n" not in str(error.value)


def test_a_bad_graph_is_called_by_its_number_in_the_dataset(tmp_path: Path) -> None:
    many = [*graphs()[:7], Data(edge_index=torch.zeros(2, 1, dtype=torch.long), num_nodes=700)]
    with pytest.raises(ValueError, match="graph 7 has 700 nodes"):
        graphpe.encode(many, AddShortestPathPE(5), cache_dir=tmp_path, memory_budget=2**24)


@pytest.mark.parametrize("cls", all_encodings(), ids=lambda cls: cls.__name__)
def test_every_encoding_through_the_cache(tmp_path: Path, cls: type[Encoding]) -> None:
    encoding = example(cls)
    assert json.loads(json.dumps(settings_of(encoding))) == settings_of(encoding)
    small = [
        data for data in graphs() if data.num_nodes <= 8
    ]  # positions of at most 8 nodes have an example
    expected = graphpe.encode(small, encoding)
    for _ in range(2):
        assert_same(graphpe.encode(small, encoding, cache_dir=tmp_path), expected)


def test_each_setting_but_the_name_is_in_the_key() -> None:
    settings = [
        AddRandomWalkPE(4),
        AddRandomWalkPE(5),
        AddRandomWalkPE(4, dtype="float64"),
        AddRandomWalkPE(4, dense_limit=9),
        AddLaplacianEigenvectorPE(4),
    ]
    assert len({key("0", settings_of(encoding)) for encoding in settings}) == len(settings)
    assert key("0", settings_of(settings[0])) != key("1", settings_of(settings[0]))
    renamed = settings_of(AddRandomWalkPE(4, "other"))
    assert key("0", renamed) == key("0", settings_of(settings[0]))


def test_the_source_of_a_users_class_and_its_bases_is_in_the_key(
    tmp_path: Path, monkeypatch
) -> None:
    """An encoding that someone edits is another one, also where what changed is inherited."""
    source = """
from graphpe.transforms import AddRandomWalkPE
class Base(AddRandomWalkPE):
    factor = 1
class Own(Base):
    pass
"""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for name, text in (
        ("same", source),
        ("again", source),
        ("edited", source.replace("= 1", "= 2")),
    ):
        (tmp_path / f"users_{name}.py").write_text(text)
        own = importlib.import_module(f"users_{name}").Own
        found.append(settings_of(own(4))["source"])
    assert found[0] == found[1] != found[2]


def test_a_version_is_in_the_key(monkeypatch) -> None:
    before = key("0", settings_of(AddRandomWalkPE(4)))
    monkeypatch.setattr(AddRandomWalkPE, "version", 2)
    assert key("0", settings_of(AddRandomWalkPE(4))) != before


def test_fingerprints_are_of_values_not_of_storage() -> None:
    data = graph(4, [(0, 1), (1, 2), (2, 3)])
    short = Data(edge_index=data.edge_index.int(), num_nodes=4)
    assert fingerprint(GraphBatch.of([data, data])) == fingerprint(GraphBatch.of([short, short]))
    ones = Data(edge_index=data.edge_index, edge_weight=torch.ones(6), num_nodes=4)
    doubles = Data(edge_index=data.edge_index, edge_weight=torch.ones(6).double(), num_nodes=4)
    assert fingerprint(GraphBatch.of([ones])) == fingerprint(GraphBatch.of([doubles]))
    different = [
        [data],
        [data, data],
        [ones],
        [graph(5, [(0, 1), (1, 2), (2, 3)])],
        [graph(4, [(0, 1), (1, 2), (3, 2)])],
        [graph(4, [(0, 1), (1, 2)]), graph(4, [(2, 3)])],
        [graph(4, [(0, 1)]), graph(4, [(1, 2), (2, 3)])],
    ]
    assert len({fingerprint(GraphBatch.of(each)) for each in different}) == len(different)
