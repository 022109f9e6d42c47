"""Encoding in processes of this machine: the same files, errors as they are, and nothing lost with a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from encoded_folders import (
    ENCODINGS,
    AddWalksAndDie,
    contents,
    molecules,
    with_a_bad_weight,
)

import graphpe
from graphpe.precompute.cache import plan
from graphpe.precompute.executors import processes
from graphpe.precompute.executors.processes import ProcessesExecutor
from graphpe.transforms import AddRandomWalkPE

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 150)


def test_a_lost_process_is_one_line_and_what_is_written_is_kept(tmp_path: Path) -> None:
    encoding = AddWalksAndDie(6, marker=str(tmp_path / "marker"))
    cache = tmp_path / "cache"
    with pytest.raises(ValueError, match=r"a process that encodes ended early") as error:
        graphpe.encode(molecules(), encoding, cache_dir=cache, executor="processes", workers=1)
    assert "\n" not in str(error.value)
    graphpe.encode(molecules(), encoding, cache_dir=cache, executor="processes", workers=1)
    graphpe.encode(molecules(), encoding, cache_dir=tmp_path / "clean")
    assert contents(cache) == contents(tmp_path / "clean")


def test_a_graph_that_fails_is_named_and_can_be_skipped(tmp_path: Path) -> None:
    encoding = AddRandomWalkPE(4)
    graphs = with_a_bad_weight(300, bad=211)
    alone = graphpe.encode(graphs[:1], encoding)
    options = {"cache_dir": tmp_path, "executor": "processes", "workers": 2}
    with pytest.warns(UserWarning, match="graph 211"):
        encoded = graphpe.encode(graphs, encoding, on_error="skip", **options)
    assert list(encoded.failures) == [211]
    assert len(encoded) == 299
    assert torch.equal(encoded[298].random_walk_pe, alone[0].random_walk_pe)


def test_each_device_has_one_process(monkeypatch) -> None:
    monkeypatch.setattr(processes.torch.cuda, "device_count", lambda: 3)
    assert ProcessesExecutor(None, "cuda").places == [
        ("cuda:0", 1),
        ("cuda:1", 1),
        ("cuda:2", 1),
    ]
    assert ProcessesExecutor(2, "cuda").places == [("cuda:0", 1), ("cuda:1", 1)]
    assert ProcessesExecutor(None, "cuda:1").places == [("cuda:1", 1)]
    assert ProcessesExecutor(5, "cpu").places == [(None, 5)]
    assert ProcessesExecutor(4, None).settings(100, None, False).memory_budget == 25
    with pytest.raises(ValueError, match="workers is 4, but 'cuda' stands for 3 devices"):
        ProcessesExecutor(4, "cuda")
    monkeypatch.setattr(processes.torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match="no CUDA device"):
        ProcessesExecutor(None, "cuda")


def test_tasks_are_divided_among_devices(tmp_path: Path, monkeypatch) -> None:
    """Two places, both of which are the CPU, work at the same time."""
    executor = ProcessesExecutor(2, None)
    executor.places = [(None, 1), (None, 1)]
    monkeypatch.setattr("graphpe.precompute.run.executor_of", lambda *_, **__: executor)
    graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path / "two", executor="processes")
    monkeypatch.undo()
    monkeypatch.setattr(plan, "_GRAPHS", 150)
    graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path / "threads")
    assert contents(tmp_path / "two") == contents(tmp_path / "threads")


SCRIPT = """
import sys
import warnings
import graphpe
from graphpe.precompute.cache import plan
plan._GRAPHS = 150
sys.path.insert(0, sys.argv[2])
from encoded_folders import molecules
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE
class AddWalksWithWarning(AddRandomWalkPE):
    def encode_block(self, block):
        warnings.warn("one of these walks is odd", UserWarning)
        return super().encode_block(block)
encodings = [AddLaplacianEigenvectorPE(4), AddWalksWithWarning(6)]
encoded = graphpe.encode(
    molecules(), encodings, cache_dir=sys.argv[1], executor="processes", workers=2
)
print(encoded[700].random_walk_pe.sum().item())
"""


def test_a_script_needs_no_guard_and_its_classes_travel(tmp_path: Path) -> None:
    """The files are those of threads, and a warning of several processes comes once."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "cache"), str(TESTS)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    wanted = graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path / "threads")
    assert float(result.stdout) == pytest.approx(float(wanted[700].random_walk_pe.sum()))
    assert result.stderr.count("one of these walks is odd") == 1
    found = contents(tmp_path / "cache")
    for name, content in contents(tmp_path / "threads").items():
        if "AddLaplacian" in name or name.endswith(".safetensors"):
            assert found[_in_own_entry(name, found)] == content


def _in_own_entry(name: str, found: dict[str, bytes]) -> str:
    """The same file in the entry of the script's class, whose key is another."""
    if "AddRandomWalkPE" not in name:
        return name
    file = name.rpartition("/")[2]
    return next(other for other in found if "AddWalksWithWarning" in other and other.endswith(file))


def test_all_but_threads_need_a_cache() -> None:
    with pytest.raises(ValueError, match="give cache_dir"):
        graphpe.encode(molecules(), ENCODINGS, executor="processes")
    with pytest.raises(ValueError, match="executor is 'gpu'; it must be 'threads'"):
        graphpe.encode(molecules(), ENCODINGS, executor="gpu")
