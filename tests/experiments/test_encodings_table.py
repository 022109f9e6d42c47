"""The README's section on the speed of every encoding is that of the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "speed"))

from encodings_table import markdown

MEASURED = {
    "graphpe_us": 4.0,
    "one_core_us": 8.0,
    "pyg_us": 1234.0,
    "pyg_ratio": 308.5,
    "numpy_us": 20.0,
    "numpy_ratio": 5.0,
}

REPORT = {
    "command": "python experiments/speed/all_encodings.py",
    "date": "2026-11-30",
    "cores": 2,
    "torch": "2.13.0",
    "torch_geometric": "2.8.1",
    "networkx": "3.5",
    "numpy": "2.3",
    "datasets": {
        "molecules": {"name": "ZINC-12k", "graphs": 12000, "mean_nodes": 23.2, "nodes": [9, 38]},
        "larger": {"name": "generated", "graphs": 48, "mean_nodes": 300.0, "nodes": [100, 500]},
    },
    "rows": [
        {"encoding": "AddDegreeSE()", "molecules": MEASURED, "larger": MEASURED},
        {
            "encoding": "AddCoreNumberSE()",
            "molecules": {"graphpe_us": 1.0, "one_core_us": 2.0, "pyg_us": 5.0, "pyg_ratio": 5.0},
            "larger": {"graphpe_us": 2.0, "one_core_us": 5.0, "pyg_us": 9.0, "pyg_ratio": 4.5},
        },
    ],
    "together": [
        {
            "group": "two",
            "encodings": ["AddDegreeSE()", "AddCoreNumberSE()"],
            "molecules": {"together_us": 8.0, "separate_us": [10.0, 6.0], "ratio": 0.5},
            "larger": {"together_us": 9.0, "separate_us": [10.0, 10.0], "ratio": 0.45},
        }
    ],
}


def test_what_a_row_says() -> None:
    lines = markdown(REPORT).splitlines()
    assert (
        "| `AddDegreeSE()` | 4.0 | 1,234 (308x) | 20 (5.0x) | 4.0 | 1,234 (308x) | 20 (5.0x) |"
        in lines
    )
    assert "| `AddCoreNumberSE()` | 1.0 | 5.0 (5.0x) |  | 2.0 | 9.0 (4.5x) |  |" in lines
    assert "| two | 8.0 (0.50 of the sum) | 16 | 9.0 (0.45 of the sum) | 20 |" in lines


def test_tables_have_as_many_cells_in_every_line() -> None:
    tables = [block for block in markdown(REPORT).split("\n\n") if block.startswith("|")]
    assert len(tables) == 2
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_medians() -> None:
    """Of 308.5 and 5, of 5 alone, and so on."""
    text = " ".join(markdown(REPORT).split())
    assert (
        "median ratio is 157 to PyG or networkx for molecules, 5.0 to numpy for molecules" in text
    )
    assert "takes 2.0 times as long (median)" in text


def test_lines_fit() -> None:
    lines = markdown(REPORT).splitlines()
    assert all(len(line) <= 120 for line in lines if not line.startswith("|"))


def test_readme_has_the_section_of_the_record(repository: Path) -> None:
    record = repository / "experiments" / "results" / "encodings-speed.json"
    if not record.exists():
        pytest.skip("nothing is recorded: experiments/speed/all_encodings.py --out writes it")
    section = markdown(json.loads(record.read_text()))
    assert section in (repository / "README.md").read_text(), (
        "README.md lacks what `python experiments/speed/all_encodings.py --markdown "
        "experiments/results/encodings-speed.json` prints"
    )
