"""Generated datasets where a program, a file, a folder or a process is not as it should be."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import loky
import numpy as np
import pytest
import torch
from loky.process_executor import TerminatedWorkerError
from torch_geometric.data import Data

from graphpe import files
from graphpe.data.generated import GeneratedGraphs
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE


@dataclass(frozen=True, kw_only=True)
class GivenGraphs(GeneratedGraphs):
    """The graphs of items 1 and 5 of train are given; all others are one node with a label."""

    settings: object = None

    items_per_shard = 3
    first = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=1, y=torch.zeros(1, 1))
    given: tuple[Data, Data] = (first, first)

    def sizes(self):
        return {"test": 2, "train": 6, "valid": 1}

    def generate(self, part, numbers):
        one, five = self.given
        own = {("train", 1): one, ("train", 5): five}
        return [own.get((part, number), self.first) for number in numbers]

    def _settings(self):
        return {name: value for name, value in super()._settings().items() if name != "given"}


def changed(**attributes):
    """The first graph with other attributes; None takes one away."""
    values = {**GivenGraphs.first.to_dict(), **attributes}
    return Data(**{name: value for name, value in values.items() if value is not None})


def columns(graphs):
    return [(g.num_nodes, g.edge_index.tolist(), g.y.tolist()) for g in graphs]


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


OTHERS = [
    (changed(extra=torch.zeros(1)), r"\['edge_index', 'extra', 'num_nodes', 'y'\]"),
    (changed(num_nodes=None, x=torch.ones(1, 2)), r"\['edge_index', 'x', 'y'\]"),
    (changed(y=torch.zeros(1, 2)), r"y of .* is torch.float32 \[any, 2\], but that of"),
    (changed(y=torch.zeros(1, 1).long()), r"y of .* is torch.int64 \[any, 1\], but that of"),
    (changed(y=[0.0]), "y of .* is list, but that of"),
]


@pytest.mark.parametrize(("other", "message"), OTHERS)
def test_graphs_that_differ_from_the_others_of_a_shard(tmp_path, other, message):
    """PyG drops an attribute that the first graph does not have, without a word."""
    dataset = GivenGraphs(root=tmp_path, given=(other, other))
    with pytest.raises(ValueError, match=message) as error:
        dataset.load()
    assert "items 0 to 2 of train" in one_line(error)
    assert "graph 1" in str(error.value)


@pytest.mark.parametrize(("other", "message"), OTHERS[:-1])
def test_shards_that_differ(tmp_path, other, message):
    """As graph 5 of a shard of its own does."""
    shards = replace(GivenGraphs(root=tmp_path), given=(GivenGraphs.first, other))
    object.__setattr__(shards, "items_per_shard", 1)
    with pytest.raises(ValueError, match=message) as error:
        shards.load()
    assert "items 5 to 5 of train" in one_line(error)
    assert "items 0 to 0 of train" in str(error.value)


@pytest.mark.parametrize("lacking", ["edge_index", "y", "num_nodes"])
def test_needed_attributes(tmp_path, monkeypatch, lacking):
    graph = changed(**{lacking: None}, title="a")
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: [graph])
    with pytest.raises(
        ValueError, match="they need edge_index, a tensor y, and x or num_nodes"
    ) as error:
        GivenGraphs(root=tmp_path).load()
    assert "GivenGraphs, items 0 to 2 of train" in one_line(error)


@pytest.mark.parametrize(
    ("made", "kind", "message"),
    [
        (None, TypeError, "generate gives None; it must give a list of Data"),
        ("graph", TypeError, "generate gives a str; it must give a list of Data"),
        (GivenGraphs.first, TypeError, "generate gives a Data; it must give a list of Data"),
        (["graph"], TypeError, "graph 0 that generate gives is a str; it must be a Data"),
        ([GivenGraphs.first, None], TypeError, "graph 1 that generate gives is None"),
        ([changed(meta={"a": 1})], TypeError, "meta of graph 0 is a dict; only dense tensors, num"),
        ([changed(meta=[torch.ones(1)])], TypeError, "meta of graph 0 is a list of other things"),
        ([changed(meta=np.ones(1))], TypeError, "meta of graph 0 is a ndarray"),
        ([changed(meta=[np.int64(1)])], TypeError, "meta of graph 0 is a list of other things"),
        (
            [changed(adj=torch.eye(1).to_sparse())],
            TypeError,
            "adj of graph 0 is a tensor of layout",
        ),
        (
            [changed(y=torch.ones(1, 1) * 1j)],
            ValueError,
            r"y is torch.complex64; targets must be re",
        ),
        ([changed(edge_index=[[0], [0]])], ValueError, "they need edge_index, a tensor y"),
        ([changed(num_nodes=None, x=[1.0])], ValueError, "they need edge_index, a tensor y"),
    ],
)
def test_what_is_no_list_of_graphs(tmp_path, monkeypatch, made, kind, message):
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: made)
    with pytest.raises(kind, match=message) as error:
        GivenGraphs(root=tmp_path).load()
    assert one_line(error).startswith("GivenGraphs, items 0 to 2 of train: ")
    assert not list(tmp_path.rglob("*.pt"))


def test_what_else_graphs_may_have(tmp_path, monkeypatch):
    graph = changed(number=np.float64(2), title="a", words=["b", 1, [2.0, None]], flag=True)
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: (graph,))
    graphs, _ = GivenGraphs(root=tmp_path).load()
    assert (graphs[0].title, graphs[0].words) == (graph.title, graph.words)


def test_the_order_of_the_sizes_does_not_matter(tmp_path):
    one, five = changed(y=torch.tensor([[1.0]])), changed(y=torch.tensor([[5.0]]))
    graphs, index = GivenGraphs(root=tmp_path, given=(one, five)).load()
    assert {part: graphs.y[numbers].flatten().tolist() for part, numbers in index.items()} == {
        "train": [0, 1, 0, 0, 0, 5],
        "valid": [0],
        "test": [0, 0],
    }


def test_other_parts_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(GivenGraphs, "sizes", lambda _: {"train": 1, "val": 1, "test": 1})
    with pytest.raises(ValueError, match="it must give train, valid and test"):
        GivenGraphs(root=tmp_path).load()


def test_settings_that_are_objects_and_numpy_numbers(tmp_path):
    random_walk, eigenvectors = AddRandomWalkPE(4), AddLaplacianEigenvectorPE(4)
    datasets = [GivenGraphs(root=tmp_path, settings=s) for s in (random_walk, eigenvectors)]
    assert datasets[0].folder != datasets[1].folder
    walks = replace(random_walk)
    assert GivenGraphs(root=tmp_path, settings=walks).folder == datasets[0].folder
    assert replace(datasets[0], seed=np.int64(42)).folder == datasets[0].folder


def test_statistics_of_names_in_numbers(tmp_path, monkeypatch):
    """-1 after the end of a name is no label, and words have no mean; graphs with x need no num_nodes."""
    rows = [[[4, 2, -1]], [[0, -1, -1]]]
    graphs = [changed(num_nodes=None, x=torch.ones(3, 2), y=torch.tensor(row)) for row in rows]
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: graphs)
    statistics = GivenGraphs(root=tmp_path).statistics()["valid"]
    assert statistics.labelled == pytest.approx(0.5)
    assert statistics.target_mean == []
    assert statistics.node_histogram == [[3, 2]]


def test_statistics_of_empty_and_one_dimensional_targets(tmp_path, monkeypatch):
    graph = changed(num_nodes=0, y=torch.empty(0, 2))
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: [graph])
    statistics = GivenGraphs(root=tmp_path / "empty").statistics()["train"]
    assert (statistics.labelled, statistics.target_mean) == (0.0, [None, None])
    graph = changed(y=torch.tensor([1.0]))
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: [graph])
    assert GivenGraphs(root=tmp_path / "flat").statistics()["train"].target_mean == [1.0]


# --- broken files and folders ---------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_to_is_an_error_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(GivenGraphs, "generate", lambda *_: pytest.fail("generated"))
    with pytest.raises(
        ValueError, match=r"cannot write to .*; copy the dataset to a folder"
    ) as error:
        GivenGraphs(root=tmp_path / "file").load()
    one_line(error)


@pytest.mark.parametrize("keep", [0, 100, -100])
def test_truncated_files_are_named_and_made_again(tmp_path, monkeypatch, keep):
    dataset = GivenGraphs(root=tmp_path)
    whole = columns(dataset.load().graphs)
    done = dataset.folder / "graphs.pt"
    done.write_bytes(done.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"graphs.pt is broken or truncated.*delete it") as error:
        dataset.load()
    one_line(error)
    done.unlink()

    shards = dataset._shards(dataset.folder / "shards")
    dataset._make(shards, len(shards))
    broken = shards[1].path
    broken.write_bytes(broken.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"train-0000003.pt is broken or truncated.*delete it"):
        dataset.load()
    broken.unlink()
    assert columns(dataset.load().graphs) == whole
    assert not broken.parent.exists()


@pytest.mark.parametrize("content", [b"left", b"{}", bytes(1000), "array"])
def test_files_that_hold_something_else(tmp_path, content):
    """torch's own text is long, and its advice dangerous."""
    dataset = GivenGraphs(root=tmp_path)
    dataset.load()
    done = dataset.folder / "graphs.pt"
    if content == "array":
        torch.save(np.ones(2), done)
    else:
        done.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"graphs.pt is broken or truncated \(it holds something else\); delete it"
    ) as error:
        dataset.load()
    one_line(error)


def test_shards_that_a_kill_at_the_end_left_are_removed(tmp_path):
    dataset = GivenGraphs(root=tmp_path)
    dataset.load()
    (dataset.folder / "shards").mkdir()
    (dataset.folder / "shards" / "train-0000000.pt").write_bytes(b"left")
    dataset.load()
    assert not (dataset.folder / "shards").exists()


def test_another_machine_may_be_faster(tmp_path, monkeypatch):
    """It does not see our lock, and removes the shards when it has joined them."""
    other, dataset = GivenGraphs(root=tmp_path / "other"), GivenGraphs(root=tmp_path / "here")
    whole = columns(other.load().graphs)
    load, loaded = files.load, []

    def load_after_the_other(path):
        if not loaded:
            loaded.append(path)
            for name in ("graphs.pt", "statistics.json"):
                (dataset.folder / name).write_bytes((other.folder / name).read_bytes())
            for shard in (dataset.folder / "shards").iterdir():
                shard.unlink()
        return load(path)

    monkeypatch.setattr(files, "load", load_after_the_other)
    assert columns(dataset.load().graphs) == whole
    assert loaded[0].name == "train-0000000.pt"
    assert not (dataset.folder / "shards").exists()


# --- several processes ----------------------------------------------------------------------------

# A script without a main guard, which can be imported too.
SCRIPT = """
import sys
import time
from dataclasses import dataclass
from pathlib import Path
import torch
from torch_geometric.data import Data
from graphpe.data.generated import GeneratedGraphs

@dataclass(frozen=True, kw_only=True)
class SlowNodes(GeneratedGraphs):
    items_per_shard = 1

    def sizes(self):
        return {"train": 6, "valid": 1, "test": 1}

    def generate(self, part, numbers):
        assert self.folder.exists()  # the same one in all processes
        while numbers[0] > 1 and Path("hold").exists():
            time.sleep(0.05)
        n = int(self.random(part, numbers[0]).integers(1, 1000))
        edges = torch.empty(2, 0, dtype=torch.long)
        return [Data(edge_index=edges, num_nodes=n, y=torch.tensor([[float(n)]]))]

if "load" in sys.argv:
    SlowNodes(root=Path("root"), workers=2).load()
"""


def start(folder: Path) -> subprocess.Popen:
    (folder / "slow_nodes.py").write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "slow_nodes.py", "load"],
        cwd=folder,
        text=True,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that all its processes can be found
    )


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_a_killed_program_takes_its_workers_along_and_is_resumed(tmp_path):
    (tmp_path / "hold").touch()
    script = start(tmp_path)
    root = tmp_path / "root"
    try:
        until(lambda: len(list(root.glob("*/shards/*.pt"))) >= 2 or script.poll() is not None)
        assert script.poll() is None, script.stderr.read()
        script.kill()
        script.wait()
        until(lambda: not is_alive(script.pid))
    finally:
        if is_alive(script.pid):
            os.killpg(script.pid, signal.SIGKILL)
        script.stderr.close()
    made = list(root.glob("*/shards/*.pt"))
    assert sorted(path.name for path in made) == ["train-0000000.pt", "train-0000001.pt"]

    spec = importlib.util.spec_from_file_location("slow_nodes", tmp_path / "slow_nodes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    resumed = module.SlowNodes(root=root)
    assert {resumed.folder} == {path.parent.parent for path in made}
    whole = [
        resumed.generate(part, range(number, number + 1))[0].num_nodes
        for part, size in resumed.sizes().items()
        for number in range(size)
    ]
    assert [graph.num_nodes for graph in resumed.load().graphs] == whole


def until(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def test_a_lost_process_is_one_line(tmp_path, monkeypatch, capsys):
    class LostProcesses(loky.ProcessPoolExecutor):
        def submit(self, function, *arguments):
            raise TerminatedWorkerError("A worker process was terminated unexpectedly")

    monkeypatch.setattr(loky, "ProcessPoolExecutor", LostProcesses)
    with pytest.raises(
        ValueError, match=r"generates given-graphs ended early.*fewer work"
    ) as error:
        GivenGraphs(root=tmp_path, workers=2).load()
    one_line(error)
    assert "Generating given-graphs with 2 processes\n" in capsys.readouterr().err
