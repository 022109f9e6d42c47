"""`graphpe encode`: fills a cache that `graphpe.encode` finds complete, says what it did, and goes on after Ctrl-C."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import graphpe
from graphpe.cli import encode as command
from graphpe.cli import main
from graphpe.data import CSLSource, GraphDataModule, OGBGraphs, OGBSource
from graphpe.precompute import CacheReport, Share
from graphpe.precompute.cache import plan
from graphpe.transforms import AddRandomWalkPE

WALKS = json.dumps([{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 4}}])


@pytest.fixture
def card(experiment: dict, write_config: Callable[..., str]) -> str:
    """The card of ogbg-molesol alone."""
    kept = {name: experiment[name] for name in ("card", "task", "features")}
    return write_config({**kept, "data": {"dataset": experiment["data"]["dataset"]}}, "card.yaml")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What `fill_cache` is called with; it does nothing."""
    calls: list[dict] = []

    def record(dataset: object, **arguments: object) -> CacheReport:
        calls.append(arguments)
        return CacheReport((), 0, 0, 0.0, ())

    monkeypatch.setattr(command, "fill_cache", record)
    return calls


def test_encode_finds_what_the_command_computed(
    card: str,
    molecules: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "cache"
    options = ["encode", "--config", card, "--encodings", WALKS, "--cache-dir", str(folder)]
    assert main(options) == 0
    shown = capsys.readouterr().out
    (entry,) = folder.glob("*/AddRandomWalkPE-*")
    assert f"in {entry}\n" in shown
    assert (
        "AddRandomWalkPE(walk_length=4)   1,128                1             0  239.9 kB" in shown
    )
    assert "encoded 1,128 graphs in" in shown
    assert main(options) == 0
    shown = capsys.readouterr().out
    assert (
        "AddRandomWalkPE(walk_length=4)   1,128                0             1  239.9 kB" in shown
    )
    assert "nothing to compute" in shown

    dataset = OGBGraphs("ogbg-molesol", root=molecules)
    expected = graphpe.encode(dataset, AddRandomWalkPE(4))
    monkeypatch.setattr(importlib.import_module("graphpe.precompute.computing"), "_compute", None)
    encoded = graphpe.encode(dataset, AddRandomWalkPE(4), cache_dir=folder)
    for number in (0, 1127):
        assert torch.equal(encoded[number].random_walk_pe, expected[number].random_walk_pe)
    source = OGBSource("ogbg-molesol", molecules)
    module = GraphDataModule(source, [AddRandomWalkPE(4)], cache_dir=folder)
    module.setup()
    assert sum(module.num_graphs.values()) == 1128


def test_encodings_of_an_experiment(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", str(repository / "datasets" / "csl.yaml"), "--cache-dir", str(tmp_path)]
    options += ["--config", str(repository / "experiments" / "zinc" / "spe.yaml")]
    assert main(["encode", *options]) == 0
    assert "AddLaplacianEigenvectorPE(k=37, is_undirected=True" in capsys.readouterr().out
    (entry,) = tmp_path.glob("*/*/manifest.json")
    assert json.loads(entry.read_text())["num_graphs"] == len(CSLSource().load().graphs)


def test_other_sections_of_an_experiment_are_not_looked_at(
    experiment: dict, given: list[dict], write_config: Callable[..., str]
) -> None:
    experiment["model"] = {"class_path": "no.such.Model"}
    experiment["trainer"] = {"callbacks": [{"class_path": "no.such.Callback"}], "max_epochs": "x"}
    experiment["seed_everything"] = 3
    assert main(["encode", "--config", write_config(experiment), "--cache-dir", "x"]) == 0
    assert given[0]["encodings"] == [AddRandomWalkPE(4)]


@pytest.mark.parametrize("file", ["encodings", "data.encodings"])
def test_encodings_of_the_command_line_come_on_top(
    file: str, card: str, given: list[dict], write_config: Callable[..., str]
) -> None:
    in_file = [{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 9}}]
    content = {"encodings": in_file} if file == "encodings" else {"data": {"encodings": in_file}}
    options = ["encode", "--cache_dir", "x", "-c", card, "-c", write_config(content, "e.yaml")]
    assert main(options) == 0
    assert main([*options, "--encodings", WALKS]) == 0
    assert [each["encodings"] for each in given] == [[AddRandomWalkPE(9)], [AddRandomWalkPE(4)]]


@pytest.mark.parametrize(
    "options",
    [
        ["--cache-dir", "x-y", "--on-error", "skip", "--verify"],
        ["--cache_dir=x-y", "--on_error=skip", "--verify", "true"],
        ["--verify", "--cache-dir=x-y", "--on-error=skip"],
    ],
)
def test_options_have_dashes_or_underscores(
    options: list[str], card: str, given: list[dict]
) -> None:
    more = ["--memory", "1.5GiB", "--workers", "3", "--executor", "processes", "--shard", "2/8"]
    assert main(["encode", "--config", card, "--encodings", WALKS, *options, *more]) == 0
    assert given == [
        {
            "encodings": [AddRandomWalkPE(4)],
            "cache_dir": "x-y",
            "workers": 3,
            "executor": "processes",
            "device": None,
            "memory_budget": 3 * 2**29,
            "on_error": "skip",
            "verify": True,
            "share": Share(2, 8),
        }
    ]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500 * 10**6),
        ("2GB", 2 * 10**9),
        ("1.5GiB", 3 * 2**29),
        ("64 kib", 2**16),
        ("1TB", 10**12),
        ("800B", 800),
        ("1000000", 10**6),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert command.bytes_of(text) == size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there is nothing to compute; give --encodings"),
        (["--encodings", "[]"], "there is nothing to compute"),
        (["--encodings", '[{"class_path": "AddRandomPE"}]'], "no class 'AddRandomPE'"),
        (["--encodings", WALKS, "--shard", "0/8"], "shard is '0/8'; it must be I/N with I from 1"),
        (["--encodings", WALKS, "--shard", "9/8"], "shard is '9/8'"),
        (["--encodings", WALKS, "--shard", "a/b"], "shard is 'a/b'"),
        (["--encodings", WALKS, "--shard", "3"], "shard is '3'"),
        (["--encodings", WALKS, "--memory", "2G"], "memory is '2G'; it must be a size such as"),
        (["--encodings", WALKS, "--memory", "0MB"], "memory is '0MB'"),
        (["--encodings", WALKS, "--memory", "-5"], "memory is '-5'"),
        (["--encodings", WALKS, "--workers", "0"], "workers is 0; it must be an integer >= 1"),
        (["--encodings", WALKS, "--workers", "all"], "workers is 'all'; it must be an integer"),
        (["--encodings", WALKS, "--device", "abacus"], "device is 'abacus'"),
        (["--encodings", WALKS, "--on-error", "ignore"], "on_error is 'ignore'; valid: nan, raise"),
        (["--encodings", WALKS, "--cache-dri", "y"], "did you mean 'cache_dir'"),
        (["--encodings", WALKS, "--data.batch_sise", "3"], "did you mean 'batch_size'"),
        (["--encodings", WALKS, "--executor", "ray"], "executor is 'ray'"),
        (["--encodings", WALKS, "--executor", "dask"], "start one with `dask scheduler`"),
        (["--encodings", WALKS, "--scheduler", "tcp://a:1"], "add --executor dask"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    options: list[str], message: str, card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cache"
    assert main(["encode", "--config", card, "--cache-dir", str(folder), *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("graphpe: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not folder.exists()


def test_what_is_required_is_named(card: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encode", "--config", card, "--encodings", WALKS]) == 2
    assert "required: cache_dir" in capsys.readouterr().err
    assert main(["encode", "--cache-dir", "x", "--encodings", WALKS]) == 2
    assert "add the card of a dataset" in capsys.readouterr().err


# --- Dask ------------------------------------------------------------------------------------------------------------


def test_a_cluster_computes(
    card: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    with distributed.LocalCluster(1, 1, processes=False, dashboard_address=None) as cluster:
        options = ["--executor", "dask", "--scheduler", cluster.scheduler_address]
        options += ["--config", card, "--encodings", WALKS, "--cache-dir", "cache"]
        assert main(["encode", *options]) == 0
    shown = capsys.readouterr().out
    assert "encoded 1,128 graphs" in shown
    assert f"in {tmp_path}/cache/" in shown  # workers are in other folders
    assert len(list(tmp_path.glob("cache/*/*/manifest.json"))) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "no answer from 'tcp://127.0.0.1:1' within 1 s"),
        (["--shard", "1/2"], "shard is 1/2, but a Dask cluster divides the work itself"),
        (["--workers", "2"], "workers is 2, but a Dask cluster has its own"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(
    options: list[str],
    message: str,
    card: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "_SECONDS_TO_ANSWER", 1)
    options = [*options, "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    options += ["--config", card, "--encodings", WALKS, "--cache-dir", "x"]
    assert main(["encode", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_dask_that_is_not_installed_is_one_line(
    card: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    options = ["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    options += ["--config", card, "--encodings", WALKS, "--cache-dir", "x"]
    assert main(["encode", *options]) == 2
    assert "pip install 'graphpe[dask]'" in capsys.readouterr().err


# --- what the summary says -------------------------------------------------------------------------------------------


def test_shards_of_an_array_of_jobs(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 300)
    options = ["--config", card, "--encodings", WALKS, "--cache-dir", str(tmp_path / "cache")]
    said = []
    for number in (3, 1, 2):
        assert main(["encode", *options, "--shard", f"{number}/3"]) == 0
        said.append(capsys.readouterr().out.splitlines()[-1])
    assert said == [
        "shard 3/3 is done; of 3 these are not: 1, 2",
        "shard 1/3 is done; of 3 these are not: 2",
        "shard 2/3 is done, and so are all 3",
    ]


USERS_SOURCE = """
import torch
from torch_geometric.data import Data
from graphpe.data import GraphSource, SplitGraphs

class Broken(GraphSource):
    def load(self):
        good = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        bad = Data(edge_index=torch.tensor([[0], [9]]), num_nodes=2)
        everything = torch.arange(50)
        index = {"train": everything, "valid": everything, "test": everything}
        return SplitGraphs([good] + 23 * [bad] + 26 * [good], index)
"""


def test_graphs_that_fail_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_source.py").write_text(USERS_SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    options = ["--data.dataset", "users_source.Broken", "--encodings", WALKS]
    options += ["--cache-dir", str(tmp_path / "cache")]
    assert main(["encode", *options]) == 1
    error = capsys.readouterr().err
    assert "edge_index of graph 1 has the edge [0, 9]" in error
    assert error.count("\n") == 1
    assert main(["encode", *options, "--on-error", "nan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("23 graphs have no values; all are in manifest.json, with the reasons:")
    assert lines[start + 1].startswith("  1: edge_index of graph 1 has the edge [0, 9]")
    assert lines[start + 20].startswith("  20: ")
    assert lines[start + 21 :] == ["  and 3 more"]


def test_an_error_of_another_process_is_one_line(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", card, "--encodings", WALKS, "--cache-dir", str(tmp_path)]
    options += ["--executor", "processes", "--workers", "1", "--memory", "100kB"]
    assert main(["encode", *options]) == 1
    error = capsys.readouterr().err
    assert "of memory_budget, but a process has 0.1 MiB" in error
    assert error.count("\n") == 1


def test_verify_finds_damage(card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--config", card, "--encodings", WALKS, "--cache-dir", str(tmp_path)]
    assert main(["encode", *options]) == 0
    (shard,) = tmp_path.rglob("*.safetensors")
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert main(["encode", *options]) == 0
    assert shard.read_bytes() != whole
    capsys.readouterr()
    with pytest.warns(UserWarning, match=r"another checksum .* computed anew"):
        assert main(["encode", *options, "--verify"]) == 0
    assert shard.read_bytes() == whole


def test_what_goes_wrong_while_it_runs_is_one_line(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", card, "--encodings", WALKS]
    (tmp_path / "file").touch()
    assert main(["encode", *options, "--cache-dir", str(tmp_path / "file")]) == 1
    assert main(["encode", *options, "--cache-dir", "~nobody-of-this-name/a"]) == 1
    assert main(["encode", *options, "--cache-dir", str(tmp_path / "a"), "--memory", "100kB"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "cannot write to" in lines[0]
    assert "there is no such user" in lines[1]
    assert "of memory_budget, but a process has 0.1 MiB" in lines[2]


# Slow, in small pieces, so that it is interrupted within.
INTERRUPTED = """
import sys, time
from graphpe.cli import main
from graphpe.precompute import computing
from graphpe.precompute.cache import plan

plan._GRAPHS = 30
original = computing.compute_fields

def slowly(*arguments, **options):
    time.sleep(float(sys.argv[1]))
    return original(*arguments, **options)

computing.compute_fields = slowly
sys.exit(main(sys.argv[2:]))
"""


def test_ctrl_c_keeps_what_was_written(
    card: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    options = ["encode", "--config", card, "--encodings", WALKS, "--cache-dir", str(folder)]

    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "0.2", *options], stderr=subprocess.PIPE, text=True
    )

    def shards() -> int:
        try:
            return len(list(folder.glob("*/*/*.safetensors")))
        except FileNotFoundError:  # a folder that came and went
            return 0

    while shards() < 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == (
        "graphpe: interrupted; what was written is kept, and the same command goes on"
    )
    assert "Traceback" not in error
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    assert 3 <= len(kept) < 38
    assert not list(folder.rglob("manifest.json"))

    monkeypatch.setattr(plan, "_GRAPHS", 30)
    assert main(options) == 0
    assert len(list(folder.rglob("*.safetensors"))) == 38
    assert len(list(folder.rglob("manifest.json"))) == 1
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
