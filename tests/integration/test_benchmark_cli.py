"""Suites through the command line: real trainings, killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphpe.benchmark import plan_runs, read_suite
from graphpe.benchmark.expressivity_report import hardest_table, read_record, table
from graphpe.benchmark.expressivity_suite import plan_candidates
from graphpe.benchmark.fingerprint import differences
from graphpe.benchmark.run_folder import RunFolder
from graphpe.cli import main
from graphpe.cli.building import build
from graphpe.cli.resolving import resolve
from graphpe.data.equivalent_graphs import equivalent_pairs

_RUN = "ogbg-molesol/none/GINE/seed_0"


@pytest.fixture
def suite(
    repository: Path, molecules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict:
    """A suite of one run that takes seconds; the working directory is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return {
        "name": "tiny",
        "datasets": [str(repository / "datasets" / "ogbg-molesol.yaml")],
        "encodings": {"none": {}},
        "networks": {
            "GINE": {"class_path": "GINE", "init_args": {"hidden_channels": 8, "num_layers": 1}}
        },
        "seeds": [0],
        "settings": {
            "data": {"dataset": {"init_args": {"root": str(molecules)}}},
            "trainer": {"max_epochs": 1, "accelerator": "cpu"},
        },
    }


def _benchmark(suite: dict[str, Any], *options: str) -> int:
    Path("suite.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))
    return main(["benchmark", "--config", "suite.yaml", *options])


def _folder(suite: dict[str, Any], name: str = _RUN) -> RunFolder:
    runs = plan_runs(read_suite("suite.yaml"), resolve)
    (run,) = (run for run in runs if run.name == name)
    return RunFolder(Path("runs/benchmark") / suite["name"], run, resolve)


def _start(*options: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "graphpe.cli", "benchmark", "--config", "suite.yaml", *options]
    return subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A shell lets what it starts in the background ignore Ctrl-C, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _wait_for_epoch(folder: RunFolder, epoch: int) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = folder.checkpoint()
        if found is not None and found[1] >= epoch:
            return
        time.sleep(0.02)
    raise AssertionError("no checkpoint was written")


def _training_of(folder: RunFolder) -> int:
    """The process that trains in a folder."""
    words = str(folder.config_path).encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words in command and b"fit" in command:
            return int(path.parent.name)
    raise AssertionError(f"no process trains in {folder.path}")


def test_a_suite_runs_once_and_a_failure_does_not_stop_the_others(
    suite: dict, capsys: pytest.CaptureFixture[str]
) -> None:
    # The features of the card are found not to be those of the graphs when these are loaded.
    wrong = {"settings": {"features": {"edge_categories": [2, 2, 2]}}}
    suite["datasets"] = [
        {"card": suite["datasets"][0], **wrong, "name": "wrong"},
        *suite["datasets"],
    ]
    assert _benchmark(suite, "--jobs", "2") == 1
    printed = capsys.readouterr()
    assert "2 runs, 0 finished, 2 to do" in printed.err
    assert "wrong/none/GINE/seed_0 failed: " in printed.err
    assert "edge_attr" in printed.err  # the error itself
    assert "0 of 1, 1 failed" in printed.out
    assert "1.173 ± 0.057" in printed.out

    root = Path("runs/benchmark/tiny")
    summary = json.loads((root / _RUN / "version_0" / "summary.json").read_text())
    assert f"{summary['test']:.4f}" in printed.out
    assert (
        f"| {summary['test']:.4f} | {summary['valid']:.4f} |" in (root / "results.md").read_text()
    )
    for name in ("results.csv", "results.json", "results.svg", "ogb.md"):
        assert (root / name).stat().st_size > 100
    record = json.loads((root / "results.json").read_text())
    assert {run["dataset"]: run["state"] for run in record["runs"]} == {
        "wrong": "failed",
        "ogbg-molesol": "finished",
    }
    assert record["circumstances"][0]["machine"]["runs_at_a_time"] == 2
    log = (root / _RUN / "output.txt").read_text()
    assert "--experiment.threads 1" in log  # of several runs, each has one thread

    # What is finished is not repeated.
    assert _benchmark(suite, "--only", "ogbg-*") == 0
    assert "1 runs, 1 finished, 0 to do" in capsys.readouterr().err
    assert [path.name for path in (root / _RUN).glob("version_*")] == ["version_0"]
    assert _benchmark(suite, "--report-only") == 0

    # Other settings are another run; the first one is kept.
    suite["settings"]["model"] = {"lr": 0.01}
    assert _benchmark(suite, "--report-only") == 0
    assert "Not run yet: 2 of 2" in capsys.readouterr().out
    assert _benchmark(suite, "--only", "ogbg-*") == 0
    assert "model.lr was 0.001 and is 0.01; the earlier run is in " in capsys.readouterr().err
    (aside,) = (root / _RUN).parent.glob("seed_0.*")
    assert json.loads((aside / "version_0" / "summary.json").read_text()) == summary

    # What `graphpe fit` made elsewhere is adopted.
    again = ["--folder", "elsewhere", "--adopt", "runs", "--report-only"]
    assert _benchmark(suite, *again) == 0
    printed = capsys.readouterr()
    assert f"as {_RUN}" in printed.err
    assert (
        f"left {aside / 'version_0'}: is no run of this suite; of {_RUN} it differs in model.lr"
        in (printed.err)
    )
    assert Path("elsewhere/tiny", _RUN, "version_0", "checkpoints", "last.ckpt").is_file()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds processes in /proc")
def test_a_killed_run_goes_on_and_gives_what_an_uninterrupted_one_gives(
    suite: dict, capsys: pytest.CaptureFixture[str]
) -> None:
    suite["settings"]["trainer"]["max_epochs"] = 12
    assert _benchmark(suite, "--folder", "whole") == 0
    whole = json.loads(Path("whole/tiny", _RUN, "version_0", "summary.json").read_text())

    folder = _folder(suite)
    process = _start()
    try:
        _wait_for_epoch(folder, 2)
        training = _training_of(folder)
        process.kill()
        process.wait()
        # The training is still there, and keeps others from its folder.
        os.kill(training, signal.SIGSTOP)
        capsys.readouterr()
        assert _benchmark(suite) == 0
        assert f"{_RUN} left out: another process is at it" in capsys.readouterr().err
        os.kill(training, signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert folder.finished_version() is None

    assert _benchmark(suite) == 0
    assert f"{_RUN} note: goes on after epoch " in capsys.readouterr().err
    resumed = folder.summary()
    for figure in ("test", "valid", "best_epoch", "num_parameters"):
        assert resumed[figure] == whole[figure]
    assert folder.epochs() == 12
    predictions = Path(whole["predictions"]).read_bytes()
    assert Path(resumed["predictions"]).read_bytes() == predictions


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds processes in /proc")
def test_ctrl_c_ends_the_trainings_too(suite: dict) -> None:
    suite["settings"]["trainer"]["max_epochs"] = 500
    Path("suite.yaml").write_text(yaml.safe_dump(suite))
    folder = _folder(suite)
    process = _start()
    _wait_for_epoch(folder, 1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130, error
    assert error.strip().endswith("graphpe: interrupted; the same command goes on")
    with pytest.raises(AssertionError, match="no process trains"):
        _training_of(folder)
    assert folder.state() == "unfinished"


@pytest.mark.parametrize(
    ("change", "options", "wanted"),
    [
        ({"encodings": {"SPE": {"encoders": [{"class_path": "SPE", "init_args": {"k": 4}}]}}}, (),
         "ogbg-molesol/SPE/GINE: SPE needs"),
        ({"settings": {"trainer": {"max_epoch": 1}}}, (), "no key 'trainer.max_epoch'; did you"),
        ({"networks": {"GINE": {"class_path": "GIN"}}}, (), "no class 'GIN'"),
        ({"networks": {"GINE": {"class_path": "GIN"}}}, ("--report-only",), "no class 'GIN'"),
        ({"settings": {"trainer": [1]}}, (), "trainer is [1]; it must be a mapping of options"),
        ({"seed": []}, (), "no key 'seed'; did you mean 'seeds'?"),
        ({}, ("--only", "zinc"), "--only 'zinc' fits none of the 1 runs; they are called as "),
        ({}, ("--jobs", "0"), "--jobs: is '0'; it must be an integer >= 1"),
        ({}, ("--job", "1"), "unrecognized arguments: --job 1"),
        ({}, ("--adopt", "."), "--adopt: there is no finished run"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_runs(
    suite: dict,
    change: dict,
    options: tuple[str, ...],
    wanted: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _benchmark(suite | change, *options) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("graphpe: error: ")
    assert wanted in line
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "name", ["quick", "zinc", "ogb-mol", "directed", "size-generalization", "nodes"]
)
def test_the_suites_of_the_repository_fit(
    name: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every encoding and network on one dataset, and every dataset with one of them."""
    monkeypatch.chdir(repository)
    suite = read_suite(f"experiments/suites/{name}.yaml")
    assert suite.name == name
    combinations = {}
    for run in plan_runs(suite, resolve):
        part = run.combination
        combinations.setdefault(("parts", part.encoding, part.network), part)
        combinations.setdefault(("dataset", part.dataset), part)
    for combination in set(combinations.values()):
        assert combination.config["model"]["network"]


@pytest.mark.parametrize(
    ("encoding", "network", "file"),
    [
        ("none", "GINE", "gine"),
        ("SPE", "GINE", "spe"),
        ("LapPE", "GT", "graph_transformer"),
        ("LapPE", "GatedGCN", "gated_gcn"),
        ("none", "PNA", "pna"),
        ("RWSE-20", "GPS", "gps"),
        ("RRWP", "GRIT", "grit"),
        ("shortest-paths", "Graphormer", "graphormer"),
    ],
)
def test_the_suite_of_zinc_has_the_published_configurations(
    encoding: str, network: str, file: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    card, experiment = (
        yaml.safe_load(Path(path).read_text())
        for path in ("datasets/zinc.yaml", f"experiments/zinc/{file}.yaml")
    )
    published = resolve({**card, **experiment, "data": {**card["data"], **experiment["data"]}})
    (run,) = (
        run
        for run in plan_runs(read_suite("experiments/suites/zinc.yaml"), resolve)
        if run.name == f"zinc/{encoding}/{network}/seed_0"
    )
    assert differences(published, run.config) == []


def test_a_suite_of_expressivity_writes_its_tables(
    suite: dict, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = list({pair.group: pair for pair in equivalent_pairs()}.values())
    monkeypatch.setattr("graphpe.cli.benchmark.equivalent_pairs", lambda: pairs)
    del suite["datasets"], suite["settings"]
    suite["kind"] = "expressivity"
    suite["networks"]["GINE"]["init_args"] |= {"norm": "none", "readout": "sum"}
    for option in (("--only", "none"), ("--jobs", "2"), ("--report-only",), ("--adopt", ".")):
        assert _benchmark(suite, *option) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert f"{option[0]} is for trainings; suite.yaml trains nothing" in line
    assert _benchmark(suite) == 0
    assert "1/1 none/GINE: 1-WL (of 1): 0; CSL (of 1): 0" in capsys.readouterr().err
    root = Path("runs/benchmark/tiny")
    assert "| GINE | none | 0 | 0 | 0 |" in (root / "results.md").read_text()
    record = json.loads((root / "results.json").read_text())
    assert record["findings"][0]["outcomes"] == "==="
    assert record["settings"] == suite
    assert record["circumstances"]["versions"]["torch"]


def test_the_suite_of_expressivity_is_that_of_its_record_and_the_page(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    path = "experiments/suites/expressivity.yaml"
    record = json.loads(Path("experiments/results/expressivity.json").read_text())
    assert record["settings"] == yaml.safe_load(Path(path).read_text())
    found = read_record(record)
    candidates = plan_candidates(read_suite(path), build)
    assert [(c.encoding, c.network) for c in candidates] == [(f.encoding, f.network) for f in found]
    pairs = equivalent_pairs()
    assert [pair["name"] for pair in record["pairs"]] == [pair.name for pair in pairs]
    page = Path("docs/benchmarks.md").read_text()
    tables = {"expressivity": table(found, pairs), "expressivity-3-wl": hardest_table(found, pairs)}
    for name, content in tables.items():
        assert f"<!-- table: {name} -->\n{content}\n<!-- end -->" in page
