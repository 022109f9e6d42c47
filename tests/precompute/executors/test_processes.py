"""Encoding in processes of this machine: the same files, errors as they are, and nothing lost with a process."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from encoded_folders import ENCODINGS, contents, molecules, shards, with_a_bad_weight

import graphpe
from graphpe.precompute.cache import plan
from graphpe.precompute.cache.task import Task
from graphpe.precompute.computing import Settings
from graphpe.precompute.executors import processes
from graphpe.precompute.executors.processes import (
    Done,
    Place,
    ProcessesExecutor,
    ShownWarnings,
    sendable,
)
from graphpe.precompute.stored import GraphsInMemory
from graphpe.transforms import AddRandomWalkPE

TESTS = Path(__file__).resolve().parents[2]
SHUFFLED = torch.randperm(1128, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 150)


def test_the_files_of_two_places_are_those_of_threads(tmp_path: Path, monkeypatch) -> None:
    """The places, which would be two devices, are both the CPU; the edges of the graphs are in another order."""
    graphs = molecules()[SHUFFLED]
    graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path / "threads")
    monkeypatch.setattr(processes, "_places", lambda *_: [Place("cpu", 1), Place("cpu", 1)])
    graphpe.encode(graphs, ENCODINGS, cache_dir=tmp_path / "processes", executor="processes")
    assert contents(tmp_path / "processes") == contents(tmp_path / "threads")
    assert shards(tmp_path / "processes") == 2 * 8


def test_a_lost_process_is_one_line_and_what_is_written_is_kept(tmp_path: Path) -> None:
    @dataclass(frozen=True, repr=False)
    class AddWalksOnce(AddRandomWalkPE):
        """Is killed, once, when there are three shards; a class of this function, which others can't import."""

        folder: str = ""

        def encode_block(self, block):
            killed = Path(self.folder, "killed")
            if not killed.exists() and shards(killed.parent) == 3:
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().encode_block(block)

    cache = tmp_path / "cache"
    encoding = AddWalksOnce(6, folder=str(tmp_path))
    options = {"executor": "processes", "workers": 1}
    with pytest.raises(ValueError, match=r"encodes ended early.*what was written is kept") as error:
        graphpe.encode(molecules(), encoding, cache_dir=cache, **options)
    assert "\n" not in str(error.value)
    written = {path: path.stat().st_mtime_ns for path in cache.rglob("*.safetensors")}
    assert len(written) == 3
    graphpe.encode(molecules(), encoding, cache_dir=cache, **options)
    assert (
        written.items() <= {p: p.stat().st_mtime_ns for p in cache.rglob("*.safetensors")}.items()
    )
    graphpe.encode(molecules(), encoding, cache_dir=tmp_path / "clean")
    assert contents(cache) == contents(tmp_path / "clean")


def test_a_graph_that_fails_in_a_process_is_named_and_can_be_skipped(tmp_path: Path) -> None:
    """Graph 70 is too large for the memory that there is, and graph 211 can't be read."""
    graphs = with_a_bad_weight(300, bad=211)
    graphs[70].num_nodes = 900
    encoding = AddRandomWalkPE(4, dense_limit=1000)
    options = {"memory_budget": 2**20, "workers": 1}
    with pytest.raises(ValueError, match=r"^graph 70 has 900 nodes"):
        graphpe.encode(graphs[:150], encoding, cache_dir=tmp_path, executor="processes", **options)
    caches = {executor: tmp_path / executor for executor in ("processes", "threads")}
    for executor, cache in caches.items():
        with pytest.warns(UserWarning, match="2 of 300 graphs are left out.*graph 70.*graph 211"):
            encoded = graphpe.encode(
                graphs, encoding, cache_dir=cache, executor=executor, on_error="skip", **options
            )
        assert list(encoded.failures) == [70, 211]
        assert len(encoded) == 298
    assert contents(caches["processes"]) == contents(caches["threads"])


SCRIPT = """
import sys, warnings
from pathlib import Path
import graphpe
from graphpe.precompute.cache import plan
plan._GRAPHS = 150
sys.path.insert(0, sys.argv[2])
from encoded_folders import ENCODINGS, contents, molecules
from graphpe.transforms import AddRandomWalkPE

class OddWarning(UserWarning):
    pass

class AddOddWalks(AddRandomWalkPE):
    def encode_block(self, block):
        warnings.warn("one of these walks is odd", OddWarning)
        return super().encode_block(block)

def encode(executor):
    encodings = [*ENCODINGS, AddOddWalks(6, "odd")]
    cache = Path(sys.argv[1], executor)
    graphpe.encode(molecules(), encodings, cache_dir=cache, executor=executor, workers=1)
    return contents(cache)

found = encode("processes")
warnings.simplefilter("ignore")
print(found == encode("threads"), len(found))
"""


def test_a_script_needs_no_guard_and_its_warnings_come_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path), str(TESTS)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.stdout == f"True {3 * (8 + 1)}\n", result.stderr
    assert result.stderr.count("OddWarning: one of these walks is odd") == 1


def test_each_device_has_a_process_and_tasks_are_made_as_they_are_needed(monkeypatch) -> None:
    """Threads stand for the processes of three devices."""
    seen, taken, done = set(), [], []

    @contextmanager
    def threads(workers: int, *_: str) -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(workers) as pool:
            yield pool

    def run_task(task: int, device: str) -> Done:
        seen.add((device, threading.get_ident()))
        return Done(task, 1, ())

    def tasks() -> Iterator[int]:
        for number in range(40):
            assert len(taken) - len(done) < 2 * 3
            taken.append(number)
            yield number

    monkeypatch.setattr(processes.torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(processes, "process_pool", threads)
    monkeypatch.setattr(processes, "run_task", run_task)
    monkeypatch.setattr(processes, "sendable", lambda task: task)
    ProcessesExecutor(None, "cuda").run(tasks(), lambda *counts: done.append(counts))
    assert sorted(device for device, _ in seen) == ["cuda:0", "cuda:1", "cuda:2"]
    assert len({thread for _, thread in seen}) == 3
    assert sorted(done) == [(number, 1) for number in range(40)]


def test_processes_share_the_devices_and_the_memory(monkeypatch) -> None:
    monkeypatch.setattr(processes, "available_cores", lambda: 6)
    monkeypatch.setattr(processes.torch.cuda, "device_count", lambda: 3)
    devices = [Place(f"cuda:{number}", 1) for number in range(3)]
    assert ProcessesExecutor(None, "cuda").places == devices
    assert ProcessesExecutor(2, "cuda").places == devices[:2]
    assert ProcessesExecutor(None, "cuda:1").places == devices[1:2]
    assert ProcessesExecutor(5, "cpu").places == [Place("cpu", 5)]
    assert ProcessesExecutor(None, None).places == [Place("cpu", 6)]
    assert ProcessesExecutor(4, None).settings(102, None, True) == Settings(25, 1, None, True)
    with pytest.raises(ValueError, match=r"workers is 4, .*'cuda' stands for 3; give fewer"):
        ProcessesExecutor(4, "cuda")
    with pytest.raises(ValueError, match=r"workers is 2, .*'cuda:1' stands for 1; give fewer"):
        ProcessesExecutor(2, "cuda:1")
    monkeypatch.setattr(processes.torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match="no CUDA device is visible"):
        ProcessesExecutor(None, "cuda")


@pytest.mark.parametrize("graphs", ["dataset", "shuffled", "weighted"])
def test_a_task_is_sent_with_its_own_graphs_alone(graphs: str) -> None:
    stored = GraphsInMemory.of(
        {
            "dataset": molecules,
            "shuffled": lambda: molecules()[SHUFFLED],
            "weighted": lambda: with_a_bad_weight(1128, bad=-1),
        }[graphs](),
        allow_invalid=False,
    )
    part = stored.part(500, 510)
    task = sendable(Task(part, (), Settings(), {}))
    assert len(pickle.dumps(task)) < 10_000 < len(pickle.dumps(part))
    assert task.graphs.first == 500
    assert torch.equal(task.graphs.num_nodes, part.num_nodes)
    for number in torch.arange(10).split(1):
        own, whole = task.graphs.edges_of(number)[1], part.edges_of(number)[1]
        assert torch.equal(task.graphs.edge_index[:, own], part.edge_index[:, whole])
        if graphs == "weighted":
            assert torch.equal(task.graphs.edge_weight[own], part.edge_weight[whole])


def test_each_warning_is_shown_once() -> None:
    shown = ShownWarnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            shown.show([UserWarning("one"), UserWarning("two"), RuntimeWarning("one")])
    assert [(each.category, str(each.message)) for each in caught] == [
        (UserWarning, "one"),
        (UserWarning, "two"),
        (RuntimeWarning, "one"),
    ]


def test_all_but_threads_need_a_cache() -> None:
    with pytest.raises(ValueError, match="give cache_dir"):
        graphpe.encode(molecules(), ENCODINGS, executor="processes")
    with pytest.raises(ValueError, match="executor is 'gpu'; it must be 'threads'"):
        graphpe.encode(molecules(), ENCODINGS, executor="gpu")
