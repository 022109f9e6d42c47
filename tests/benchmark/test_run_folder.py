"""A run is recognised by its summary and its configuration; nothing that is there is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from benchmark_resolve import resolve

from graphpe.benchmark import Run, plan_runs, read_suite
from graphpe.benchmark.fingerprint import differences, fingerprint
from graphpe.benchmark.run_folder import Failure, RunFolder


@pytest.fixture
def changed(suite_content: dict[str, Any], write_suite: Callable, runs: list[Run]) -> Run:
    """The first run of the suite after a change of its settings."""
    suite_content["settings"] = {"model": {"lr": 0.5}}
    return plan_runs(read_suite(write_suite(suite_content)), resolve)[0]


def _folder(tmp_path: Path, run: Run) -> RunFolder:
    return RunFolder(tmp_path / "runs", run, resolve)


def test_states(tmp_path: Path, runs: list[Run], changed: Run, finish: Callable) -> None:
    folder = _folder(tmp_path, runs[0])
    assert folder.state() == "absent"
    folder.begin({})
    assert folder.state() == "unfinished"
    folder.record_failure(Failure("out of memory", 1, "output.txt"))
    assert folder.state() == "failed"
    assert folder.failure().error == "out of memory"
    folder.begin({})
    assert folder.state() == "unfinished"
    finish(runs[0], 1.0)
    assert folder.state() == "finished"
    assert folder.epochs() == 4
    assert _folder(tmp_path, runs[1]).state() == "absent"

    other = _folder(tmp_path, changed)
    assert other.state() == "changed"
    assert other.changes() == [("model.lr", "0.001", "0.5")]


def test_a_run_of_other_settings_is_kept_and_comes_back(
    tmp_path: Path, runs: list[Run], changed: Run, finish: Callable
) -> None:
    version = finish(runs[0], 1.0)
    summary = (version / "summary.json").read_bytes()
    other = _folder(tmp_path, changed)
    aside = other.make_room()
    assert (aside / "version_0" / "summary.json").read_bytes() == summary
    assert other.state() == "absent"
    assert _folder(tmp_path, runs[0]).state() == "absent"
    finish(changed, 2.0)

    first = _folder(tmp_path, runs[0])
    assert first.make_room() is not None
    assert first.state() == "finished"
    assert first.summary()["test"] == 1.0
    assert other.make_room() is not None
    assert other.summary()["test"] == 2.0
    assert len(list(first.path.parent.glob("seed_0*"))) == 2


def test_what_does_not_matter_is_no_change(
    tmp_path: Path, runs: list[Run], finish: Callable
) -> None:
    finish(runs[0], 1.0)
    folder = _folder(tmp_path, runs[0])
    config = folder.config()
    config["experiment"] |= {"name": "n", "folder": "/f", "threads": 3, "baselines": [1]}
    config["data"]["dataset"]["init_args"]["root"] = "/elsewhere"
    config["card"]["title"] = "other words"
    config["trainer"]["enable_progress_bar"] = False
    folder.config_path.write_text(yaml.safe_dump(config))
    assert folder.state() == "finished"
    assert fingerprint(config) == fingerprint(folder.config())


def test_an_option_that_graphpe_got_since_is_no_change(
    tmp_path: Path, runs: list[Run], finish: Callable
) -> None:
    finish(runs[0], 1.0)
    folder = _folder(tmp_path, runs[0])
    config = folder.config()
    del config["model"]["lr"]  # has its default
    folder.config_path.write_text(yaml.safe_dump(config))
    assert folder.state() == "finished"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seed_everything",), 9),
        (("trainer", "max_epochs"), 3),
        (("model", "network", "init_args", "hidden_channels"), 9),
        (("data", "dataset", "init_args", "name"), "ogbg-mollipo"),
        (("task", "metric"), "mae"),
    ],
)
def test_what_matters_is_a_change(
    tmp_path: Path, runs: list[Run], finish: Callable, path: tuple[str, ...], value: Any
) -> None:
    finish(runs[0], 1.0)
    folder = _folder(tmp_path, runs[0])
    config = folder.config()
    place = config
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    folder.config_path.write_text(yaml.safe_dump(config))
    assert folder.state() == "changed"
    assert [change.path for change in folder.changes()] == [".".join(path)]


def test_differences_of_lists_and_missing_keys() -> None:
    old = {"a": [1, {"b": 2}], "c": [1], "d": 1}
    new = {"a": [1, {"b": 3}], "c": [1, 2], "e": None}
    assert differences(old, new) == [
        ("a[1].b", "2", "3"),
        ("c", "[1]", "[1, 2]"),
        ("d", "1", "not given"),
        ("e", "not given", "null"),
    ]
    assert differences({"a": (1, 2)}, {"a": [1, 2]}) == []


def _save_checkpoint(folder: RunFolder, version: int, epoch: int) -> Path:
    path = folder.path / f"version_{version}" / "checkpoints" / "last.ckpt"
    path.parent.mkdir(parents=True)
    torch.save({"epoch": epoch}, path)
    return path


def test_the_latest_checkpoint_that_can_be_read_is_gone_on_from(
    tmp_path: Path, runs: list[Run]
) -> None:
    folder = _folder(tmp_path, runs[0])
    assert folder.checkpoint() is None
    first = _save_checkpoint(folder, 0, 4)
    assert folder.checkpoint() == (first, 5)
    second = _save_checkpoint(folder, 10, 7)
    (folder.path / "version_11").mkdir()  # ended before its first epoch was
    assert folder.checkpoint() == (second, 8)
    _save_checkpoint(folder, 12, 1)  # was begun anew where an earlier one could not be read
    assert folder.checkpoint() == (second, 8)
    second.write_bytes(second.read_bytes()[:100])  # damaged
    assert folder.checkpoint() == (first, 5)


def test_a_run_is_held_by_one_process(tmp_path: Path, runs: list[Run]) -> None:
    folder = _folder(tmp_path, runs[0])
    with folder.lock() as first:
        assert first is not None
        with _folder(tmp_path, runs[0]).lock() as second:
            assert second is None
    with folder.lock() as again:
        assert again is not None


def test_adopting_leaves_a_whole_run(tmp_path: Path, runs: list[Run], finish: Callable) -> None:
    version = finish(runs[0], 1.5)
    folder = RunFolder(tmp_path / "other", runs[0], resolve)
    folder.adopt(version, {"date": "2026-01-01"})
    assert folder.state() == "finished"
    summary = folder.summary()
    assert summary["test"] == 1.5
    assert summary["folder"] == str(folder.path / "version_0")
    assert summary["checkpoint"] == str(folder.path / "version_0" / "checkpoints" / "best.ckpt")
    assert json.loads((version / "summary.json").read_text())["folder"] == str(version)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "circumstances.json",
        "run.yaml",
        "version_0",
    ]


def test_where_the_source_of_a_split_is_does_not_matter() -> None:
    def config(root: str, fraction: float = 0.5) -> dict:
        source = {"class_path": "OGBSource", "init_args": {"name": "ogbg-molesol", "root": root}}
        arguments = {"small_fraction": fraction, "source": source}
        return {"data": {"dataset": {"class_path": "SizeSplit", "init_args": arguments}}}

    assert fingerprint(config("data/ogb")) == fingerprint(config("/elsewhere"))
    assert fingerprint(config("data/ogb")) != fingerprint(config("data/ogb", 0.6))
