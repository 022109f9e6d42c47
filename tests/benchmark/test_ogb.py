"""What OGB's leaderboards ask for, and its submission files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_resolve import resolve

from graphpe.benchmark import Run, plan_runs, read_suite
from graphpe.benchmark.ogb import leaderboard_report, write_submission
from graphpe.benchmark.results import read_results
from graphpe.data.ogb_import import import_ogb


def _report(tmp_path: Path, runs: list[Run]) -> str:
    return leaderboard_report(read_results(tmp_path / "runs", runs, resolve))


def test_what_is_there_and_what_is_missing(
    tmp_path: Path, runs: list[Run], finish: Callable
) -> None:
    assert _report(tmp_path, runs) == ""
    for run, test in zip(runs[::2], (1.0, 2.0, 4.0), strict=True):
        finish(run, test, valid=test / 2)
    report = _report(tmp_path, runs)
    for line in (
        "## esol: GINE, none",
        "- dataset: ogbg-molesol, metric: rmse",
        "- test: 2.3333 ± 1.5275",
        "- validation: 1.1667 ± 0.7638",
        "- parameters: 1,234",
        "- hardware: CPU, 2 cores (x86_64)",
        "- seeds: 0, 1, 2",
        "- missing: the rules ask for the ten seeds 0 to 9; add the seeds 3, 4, 5, 6, 7, 8, 9",
        "- submission file: OGB has none for ogbg-molesol; its leaderboard takes the figures above",
    ):
        assert line in report.splitlines()


def test_ten_seeds_are_enough(
    suite_content: dict[str, Any], write_suite: Callable, tmp_path: Path, finish: Callable
) -> None:
    suite_content["seeds"] = list(range(10))
    suite_content["grid"] = [{"encodings": ["none"]}]
    runs = plan_runs(read_suite(write_suite(suite_content)), resolve)
    for run in runs:
        finish(run, float(run.seed))
    assert "- missing: nothing" in _report(tmp_path, runs).splitlines()


def test_other_datasets_are_left_out(
    suite_content: dict[str, Any], write_suite: Callable, tmp_path: Path, finish: Callable
) -> None:
    suite_content["settings"] = {
        "data": {"dataset": {"class_path": "graphpe.data.ZINCSource", "init_args": {"name": "x"}}}
    }
    runs = plan_runs(read_suite(write_suite(suite_content)), resolve)
    finish(runs[0], 1.0)
    assert _report(tmp_path, runs) == ""


def _write_predictions(folder: Path, values: np.ndarray, numbers: np.ndarray) -> None:
    lines = [f"{number},{value:.9g}" for number, value in zip(numbers, values, strict=True)]
    (folder / "predictions.csv").write_text("\n".join(["graph,prediction_0", *lines]) + "\n")


@pytest.fixture
def _evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    """OGB's evaluator of PCQM4Mv2 can be imported, also without RDKit, which it doesn't use."""
    import_ogb()
    import ogb.utils

    monkeypatch.setattr(ogb.utils, "smiles2graph", None, raising=False)


@pytest.mark.usefixtures("_evaluator")
@pytest.mark.parametrize(("size", "part"), [(147_037, "test-dev"), (147_432, "test-challenge")])
def test_submission_of_pcqm4mv2(tmp_path: Path, size: int, part: str) -> None:
    values = np.random.default_rng(0).normal(5, 1, size).astype(np.float32)
    numbers = np.random.default_rng(1).permutation(size)
    _write_predictions(tmp_path, values[numbers], numbers)
    path = tmp_path / f"y_pred_pcqm4m-v2_{part}.npz"
    assert write_submission(tmp_path) == str(path)
    with np.load(path) as saved:
        assert saved["y_pred"].dtype == np.float32
        assert np.array_equal(saved["y_pred"], values)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["predictions.csv", path.name]


@pytest.mark.usefixtures("_evaluator")
def test_a_submission_has_all_molecules_and_finite_values(tmp_path: Path) -> None:
    _write_predictions(tmp_path, np.ones(3), np.arange(3))
    with pytest.raises(ValueError, match=r"predictions for 3 molecules; .*147,037 \(test-dev\)"):
        write_submission(tmp_path)
    values = np.ones(147_037)
    values[5] = np.inf
    _write_predictions(tmp_path, values, np.arange(147_037))
    with pytest.raises(ValueError, match="not finite"):
        write_submission(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["predictions.csv"]


def test_without_rdkit_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_predictions(tmp_path, np.ones(3), np.arange(3))
    monkeypatch.setitem(sys.modules, "ogb.lsc.pcqm4mv2", None)
    with pytest.raises(ValueError, match=r"needs RDKit; .*graphpe\[chem\]"):
        write_submission(tmp_path)
