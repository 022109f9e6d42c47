"""The tables of results on the page are those of the records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from experiments.benchmark_results import PAGE, SUITES, markdown, tables
from experiments.reporting import RESULTS


def test_the_page_has_the_tables_of_the_records() -> None:
    page = PAGE.read_text()
    assert tables().keys() == set(SUITES)
    for name, text in tables().items():
        assert f"<!-- table: {name} -->\n{text}\n<!-- end -->" in page


def test_means_and_deviations() -> None:
    runs = [
        {
            "dataset": "zinc",
            "network": "A",
            "encoding": "b",
            "state": state,
            "test": {"mae": value},
            "valid": {"mae": value / 2},
        }
        for state, value in (("finished", 1.0), ("finished", 2.0), ("failed", 9.0), ("absent", 9.0))
    ]
    first, _, row, *published = markdown({"runs": runs}).splitlines()
    assert first == "| test | zinc, mae |"
    assert row == "| A, b | 1.500 ± 0.707 (2) |"
    assert any("0.226 ± 0.014" in line for line in published)
    first, _, row, *_ = markdown({"runs": runs}, ("valid", "test")).splitlines()
    assert first == "| valid → test | zinc, mae |"
    assert row == "| A, b | 0.750 ± 0.354 → 1.500 ± 0.707 (2) |"


def test_every_finished_run_of_a_record_has_figures() -> None:
    for suite in SUITES:
        record = json.loads((RESULTS / f"benchmark-{suite}.json").read_text())
        finished = [run for run in record["runs"] if run["state"] == "finished"]
        assert finished
        assert all(run["test"] and run["valid"] and run["num_parameters"] for run in finished)
