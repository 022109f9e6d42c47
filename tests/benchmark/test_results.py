"""Means, standard deviations and the record, from runs whose figures are known."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmark_resolve import resolve
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from graphpe.benchmark import Run
from graphpe.benchmark.plot import save_plot
from graphpe.benchmark.results import Row, Spread, read_results, record
from graphpe.benchmark.run_folder import Failure, RunFolder
from graphpe.benchmark.tables import csv_table, markdown, show, spread_text

_LOAD = "Seconds per epoch were measured with "


@pytest.fixture
def rows(tmp_path: Path, runs: list[Run], finish: Callable) -> list[Row]:
    """Without encoding all three seeds are finished; with RWSE one is, one failed, and one is not begun."""
    by_name = {run.name: run for run in runs}
    for seed, test in enumerate((1.0, 2.0, 4.0)):
        finish(by_name[f"esol/none/GINE/seed_{seed}"], test, valid=test + 1, more={"mae": seed})
    finish(by_name["esol/RWSE/GINE/seed_0"], 3.0)
    failed = RunFolder(tmp_path / "runs", by_name["esol/RWSE/GINE/seed_1"], resolve)
    failed.begin({})
    failed.record_failure(Failure("no | memory", 1, "output.txt"))
    return read_results(tmp_path / "runs", runs, resolve)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=10))
def test_the_standard_deviation_is_unbiased(values: list[float]) -> None:
    spread = Spread.of([*values, None])
    assert spread.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert spread.std == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)


def test_spreads_of_few_values() -> None:
    assert Spread.of([None]).mean is None
    assert Spread.of([2.0]).std is None
    assert spread_text(Spread.of([]), 3) == "-"
    assert spread_text(Spread.of([2.0]), 3) == "2.000"
    assert spread_text(Spread.of([1.0, 2.0]), 2) == "1.50 ± 0.71"


def test_markdown(rows: list[Row]) -> None:
    page = markdown("small", rows)
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    assert lines[0] == (
        "| network | encoding | test rmse | valid rmse | parameters | s / epoch | encoding, s | runs | source |"
    )
    # The deviation of 1, 2, 4 is sqrt(7 / 3); 8 s are of 4 epochs.
    assert lines[2] == (
        "| GINE | none | 2.3333 ± 1.5275 | 3.3333 ± 1.5275 | 1,234 | 2.00 | 0.5 | 3 | this suite |"
    )
    assert lines[3] == (
        "| GINE | RWSE | 3.0000 | 1.0000 | 1,234 | 2.00 | 0.5 | 1 of 3, 1 failed | this suite |"
    )
    assert lines[4] == "| GIN |  | 1.173 ± 0.057 |  |  |  |  |  | a paper |"
    assert "## esol: rmse, lower is better" in page
    assert "best validation metric" in page
    assert "- esol/RWSE/GINE/seed_1 failed: no | memory" in page
    assert "Split: random." in page


@pytest.mark.parametrize(
    ("machines", "wanted"),
    [
        ([{"runs_at_a_time": 1}, {"runs_at_a_time": 1}, None], "1 run at a time"),
        ([{"runs_at_a_time": 8}, {"runs_at_a_time": 2}, {}], "2 or 8 runs at a time"),
        ([None, {}, None], None),  # adopted, or of an earlier version
    ],
)
def test_the_page_says_how_many_runs_shared_the_machine(
    rows: list[Row], machines: list, wanted: str | None
) -> None:
    results = [
        replace(result, circumstances={"machine": machine})
        for result, machine in zip(rows[0].results, machines, strict=True)
    ]
    page = markdown("small", [Row(rows[0].combination, tuple(results))])
    lines = [line for line in page.splitlines() if line.startswith(_LOAD)]
    assert len(lines) == (wanted is not None)
    assert all(line.startswith(f"{_LOAD}{wanted} (`--jobs`); ") for line in lines)


def test_the_table_on_the_terminal_has_the_same_figures(rows: list[Row]) -> None:
    printed = io.StringIO()
    show("small", rows, Console(file=printed, width=200))
    for text in ("2.3333 ± 1.5275", "1 of 3, 1 failed", "1.173 ± 0.057", "failed: no | memory"):
        assert text in printed.getvalue()


def test_csv(rows: list[Row]) -> None:
    first, second, published = csv.DictReader(io.StringIO(csv_table(rows)))
    assert float(first["test_mean"]) == pytest.approx(7 / 3)
    assert float(first["test_std"]) == pytest.approx(math.sqrt(7 / 3))
    assert float(first["test_mae_mean"]) == 1.0
    assert (second["runs"], second["asked"], second["failed"]) == ("1", "3", "1")
    assert second["test_std"] == ""
    assert (published["network"], published["test_std"]) == ("GIN", "0.057")
    assert published["source"] == "a paper"


def test_a_run_without_a_value_is_said(tmp_path: Path, runs: list[Run], finish: Callable) -> None:
    """The test metric is null where it can't be computed."""
    finish(runs[0], None)
    finish(runs[2], 2.0)
    (row, _) = read_results(tmp_path / "runs", runs, resolve)
    (line,) = [line for line in markdown("small", [row]).splitlines() if line.startswith("| GINE")]
    assert "| 2.0000 |" in line
    assert "| 1 of 3, 1 without a value |" in line


def test_nothing_is_begun(tmp_path: Path, runs: list[Run]) -> None:
    rows = read_results(tmp_path / "runs", runs, resolve)
    assert "Not run yet: 2 of 2 combinations" in markdown("small", rows)
    assert csv_table(rows) == "dataset\n"
    assert json.loads(record("small", "c", {}, rows))["runs"] == []


def test_record(rows: list[Row], tmp_path: Path) -> None:
    content = json.loads(record("small", "graphpe benchmark", {"seeds": [0, 1, 2]}, rows))
    assert content["command"] == "graphpe benchmark"
    assert content["settings"] == {"seeds": [0, 1, 2]}
    assert [run["state"] for run in content["runs"]] == [
        *["finished"] * 4,
        "failed",
        "absent",
    ]
    first = content["runs"][0]
    assert first["test"] == {"rmse": 1.0, "mae": 0}
    assert first["valid"] == {"rmse": 2.0}
    assert (first["epochs"], first["training_seconds"]) == (4, 8.0)
    assert first["date"] == "2026-01-01"
    assert content["circumstances"] == [{"machine": {"cores": 2, "processor": "x86_64"}}]
    assert content["runs"][4]["error"] == "no | memory"
    assert str(tmp_path) not in json.dumps(content["runs"])  # no paths of this machine


def test_the_plot_has_every_row_and_is_reproducible(rows: list[Row], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        save_plot(rows, tmp_path / name)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    for text in (b"GINE, none", b"GINE, RWSE", b"test rmse", b"GIN<"):
        assert text in first
    assert sorted(path.name for path in tmp_path.glob("*.svg*")) == ["a.svg", "b.svg"]


def test_the_plot_says_what_it_needs(
    rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'graphpe\[plot\]'"):
        save_plot(rows, tmp_path / "a.svg")
