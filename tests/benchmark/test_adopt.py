"""Runs that were made elsewhere are adopted only if their configuration is that of the suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark_resolve import resolve

from graphpe.benchmark import Run, SuiteError
from graphpe.benchmark.adopt import adopt_runs
from graphpe.benchmark.run_folder import RunFolder


def _elsewhere(version: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Makes a run look as if another command had made it, in another place."""
    path = version / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["experiment"] |= {"name": "other", "folder": "/elsewhere"}
    config["data"]["dataset"]["init_args"]["root"] = "/data"
    change(config)
    path.write_text(yaml.safe_dump(config))


def test_the_same_configuration_is_adopted_once(
    tmp_path: Path, runs: list[Run], finish: Callable
) -> None:
    version = finish(runs[0], 1.5)
    # Made before graphpe had the option, whose default is that of the suite.
    _elsewhere(version, lambda config: config["model"].pop("lr"))
    root = tmp_path / "suite"
    (adoption,) = adopt_runs(tmp_path / "runs", root, runs, resolve)
    assert (adoption.run, adoption.reason) == (runs[0], None)
    folder = RunFolder(root, runs[0], resolve)
    assert folder.state() == "finished"
    assert folder.summary()["test"] == 1.5
    assert folder.circumstances()["adopted"] is True
    (again,) = adopt_runs(tmp_path / "runs", root, runs, resolve)
    assert again.reason == "is in the suite already"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda config: config["model"].update(lr=0.7),
            "of esol/none/GINE/seed_0 it differs in model.lr, which is 0.7 there and 0.001 in the suite",
        ),
        (lambda config: config.update(seed_everything=77), "differs in seed_everything"),
        (
            lambda config: config["data"]["dataset"]["init_args"].update(name="ogbg-mollipo"),
            "differs in data.dataset.init_args.name",
        ),
    ],
)
def test_another_configuration_is_left(
    tmp_path: Path, runs: list[Run], finish: Callable, change: Callable, reason: str
) -> None:
    _elsewhere(finish(runs[0], 1.5), change)
    (adoption,) = adopt_runs(tmp_path / "runs", tmp_path / "suite", runs, resolve)
    assert reason in adoption.reason
    assert not (tmp_path / "suite").exists()


def test_a_folder_without_runs_is_refused(tmp_path: Path, runs: list[Run]) -> None:
    with pytest.raises(SuiteError, match="no finished run"):
        adopt_runs(tmp_path, tmp_path / "suite", runs, resolve)
