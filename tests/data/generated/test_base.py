"""Generated datasets: the same graphs however they were made, kept, and resumed."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch_geometric.data import Data

from graphpe.data.generated import GeneratedGraphs, RandomDigraphs, SortingNetworks, SourceDistance


@dataclass(frozen=True, kw_only=True)
class RandomPaths(GeneratedGraphs):
    """Paths of random length; items with an odd first draw give nothing, others two graphs."""

    items: int = 23
    largest: int = 9

    items_per_shard = 4

    def sizes(self):
        return {"train": self.items, "valid": 7, "test": 1}

    def generate(self, part, numbers):
        graphs = []
        for number in numbers:
            random = self.random(part, number)
            if part == "train" and random.integers(2):
                continue
            for label in (0.0, float("nan")):
                n = int(random.integers(1, self.largest))
                nodes = torch.arange(n - 1)
                y = torch.tensor([[label, float(n)]])
                edges = torch.stack([nodes, nodes + 1])
                graphs.append(Data(edge_index=edges, num_nodes=n, y=y, title=f"{part} {number}"))
        return graphs


def columns(graphs):
    return [(g.num_nodes, g.edge_index.tolist(), str(g.y.tolist()), g.title) for g in graphs]


def test_the_graphs_are_those_of_the_program_in_their_order(tmp_path):
    dataset = RandomPaths(root=tmp_path)
    graphs, index = dataset.load()
    made = [dataset.generate(part, range(size)) for part, size in dataset.sizes().items()]
    assert columns(graphs) == columns(graph for part in made for graph in part)
    assert [len(numbers) for numbers in index.values()] == [len(part) for part in made]
    assert torch.cat(list(index.values())).tolist() == list(range(len(graphs)))
    assert columns(dataset.load().graphs) == columns(graphs)


def test_the_number_of_processes_does_not_matter(tmp_path):
    one = RandomPaths(root=tmp_path / "one").load().graphs
    two = RandomPaths(root=tmp_path / "two", workers=2)
    assert two.folder.name == RandomPaths(root=tmp_path / "one").folder.name
    # Other processes can't import this test module, so the shards are made here, in another order.
    for shard in reversed(two._shards(two.folder / "shards")):
        two._make([shard], 1)
    assert columns(two.load().graphs) == columns(one)


def test_settings_and_seed_make_another_folder(tmp_path):
    dataset = RandomPaths(root=tmp_path)
    others = [replace(dataset, seed=1), replace(dataset, largest=8), replace(dataset, items=24)]
    assert len({d.folder for d in [dataset, *others]}) == 4
    first = columns(dataset.load().graphs)
    assert columns(others[0].load().graphs) != first
    saved = json.loads((dataset.folder / "settings.json").read_text())
    assert saved == {
        "dataset": "random-paths",
        "version": 1,
        "class": f"{__name__}.RandomPaths",
        "seed": 42,
        "items": 23,
        "largest": 9,
    }


def test_an_interrupted_generation_is_resumed(tmp_path, monkeypatch):
    whole = columns(RandomPaths(root=tmp_path / "whole").load().graphs)
    dataset = RandomPaths(root=tmp_path / "killed")
    generate, calls = RandomPaths.generate, []

    def killed_at_the_third(self, part, numbers):
        calls.append(numbers)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return generate(self, part, numbers)

    monkeypatch.setattr(RandomPaths, "generate", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        dataset.load()
    assert not (dataset.folder / "graphs.pt").exists()
    assert len(list((dataset.folder / "shards").iterdir())) == 2
    calls.extend([None] * 10)
    assert columns(dataset.load().graphs) == whole
    made_again = [numbers for numbers in calls if numbers is not None]
    assert made_again.count(range(0, 4)) == 2  # of train before the kill, and of valid after it
    assert not (dataset.folder / "shards").exists()


def test_statistics(tmp_path, capsys):
    dataset = RandomPaths(root=tmp_path)
    graphs, index = dataset.load()
    statistics = dataset.statistics()["valid"]
    sizes = [graphs[int(number)].num_nodes for number in index["valid"]]
    assert statistics.graphs == 14
    assert statistics.node_histogram == [[n, sizes.count(n)] for n in sorted(set(sizes))]
    assert statistics.nodes == pytest.approx(sum(sizes) / 14)
    assert statistics.edges == pytest.approx(sum(sizes) / 14 - 1)
    assert statistics.labelled == pytest.approx(0.75)
    assert statistics.target_mean == [0.0, pytest.approx(statistics.nodes)]
    lines = capsys.readouterr().err.splitlines()
    assert f"random-paths valid: {statistics}" in lines  # whole, where there is no terminal


def test_statistics_are_made_again(tmp_path):
    dataset = RandomPaths(root=tmp_path)
    before, path = dataset.statistics(), dataset.folder / "statistics.json"
    content = path.read_text()
    path.unlink()
    assert dataset.statistics() == before
    assert path.read_text() == content
    for broken in ("", "{}", "[1]", '{"train": {}}'):
        path.write_text(broken)
        with pytest.raises(
            ValueError, match=r"statistics\.json is broken; delete it, and it is made again"
        ):
            dataset.statistics()


def test_a_part_without_graphs_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no graph for 'train'"):
        RandomPaths(root=tmp_path, items=0).load()


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="workers is 0"):
        RandomPaths(workers=0)
    with pytest.raises(ValueError, match="seed is -1"):
        RandomPaths(seed=-1)


# --- which class a folder is of -------------------------------------------------------------------

MODULE = """
from dataclasses import dataclass
from graphpe.data.generated import GeneratedGraphs

@dataclass(frozen=True, kw_only=True)
class Paths(GeneratedGraphs):
    version = {version}

    def sizes(self):
        return {{}}

    def generate(self, part, numbers):
        return []
"""


def module(folder: Path, name: str, version: int = 1) -> ModuleType:
    """A new module with a class ``Paths``."""
    path = folder / f"{name}.py"
    path.write_text(MODULE.format(version=version))
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_classes_of_the_same_name_have_folders_of_their_own(tmp_path):
    one, again, other = (module(tmp_path, name).Paths() for name in ("one", "one", "other"))
    assert one.folder == again.folder != other.folder
    assert one.folder.name.startswith("paths-")


def test_a_version_has_a_folder_of_its_own(tmp_path):
    one, two = (module(tmp_path, "one", version).Paths() for version in (1, 2))
    assert one.folder != two.folder


@pytest.mark.parametrize("name", ["__main__", "__mp_main__"])
def test_a_script_is_the_module_of_its_name(tmp_path, monkeypatch, name):
    imported, script = (module(tmp_path, "my_data") for _ in range(2))
    monkeypatch.setitem(sys.modules, "__main__", script)
    script.Paths.__module__ = name
    assert script.Paths().folder == imported.Paths().folder


def test_graphpes_own_folders_stay_the_same():
    """As on the disks of users: only a new version of a dataset may change them."""
    digraphs = RandomDigraphs(task="adjacency", acyclic=True)
    folders = [dataset.folder.name for dataset in (digraphs, SortingNetworks(), SourceDistance())]
    assert folders == [
        "random-digraphs-dc9d8faa67",
        "sorting-networks-0779b21556",
        "source-distance-94dfb2520d",
    ]


class Undecorated(RandomPaths):
    """Its annotation is no field."""

    longest: int = 3


class UndecoratedWithInit(RandomPaths):
    def __init__(self, longest):
        self.longest = longest


@dataclass(frozen=True, kw_only=True)
class OverUndecorated(Undecorated):
    pass


@pytest.mark.parametrize("kind", [Undecorated, OverUndecorated])
def test_a_class_that_is_no_dataclass_itself_is_refused(kind):
    """Two of its datasets with other settings would have the same folder."""
    with pytest.raises(TypeError, match=r"Undecorated is no dataclass itself.*@dataclass") as error:
        kind()
    assert "\n" not in str(error.value)


def test_a_class_with_a_constructor_of_its_own_gets_no_folder():
    with pytest.raises(TypeError, match="UndecoratedWithInit is no dataclass itself"):
        _ = UndecoratedWithInit(3).folder
