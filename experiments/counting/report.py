"""The tables and the figure of counting in ``docs/stability.md``: ``python -m experiments.counting.report``."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from experiments.reporting import RESULTS, ROOT, save_figure, table, with_tables

PAGE = ROOT / "docs" / "stability.md"
FIGURES = ROOT / "docs" / "figures"
RECORDS = ("counting", "counting-published-graphs")
NAMES = {
    "none": "none",
    "eigenvectors": "eigenvectors, random signs in training",
    "peg": "PEG",
    "sign_net": "SignNet",
    "basis_net": "BasisNet",
    "spe": "SPE",
    "walks": "walks (RWSE)",
}


def markdown(record: dict) -> str:
    """log10 of the mean absolute error by length of cycles, mean ± unbiased standard deviation over seeds."""
    lengths = list(record["runs"][0]["test_mae"])
    header = [
        "encoding",
        *(f"{length}-cycles" for length in lengths),
        "parameters",
        "time",
        "seeds",
    ]
    rows = []
    for encoding, runs in by_encoding(record).items():
        seconds = statistics.mean(run["training_seconds"] for run in runs)
        rows.append(
            [
                NAMES[encoding],
                *(spread(logarithms(runs, length)) for length in lengths),
                f"{runs[0]['num_parameters']:,}",
                f"{seconds:.0f} s",
                str(len(runs)),
            ]
        )
    return table(header, rows)


def plot(record: dict) -> Figure:
    """The same as the table, one line per encoding."""
    figure, axes = plt.subplots(figsize=(6, 3.6))
    lengths = list(record["runs"][0]["test_mae"])
    for encoding, runs in by_encoding(record).items():
        values = [logarithms(runs, length) for length in lengths]
        means = [statistics.mean(v) for v in values]
        deviations = [statistics.stdev(v) if len(v) > 1 else 0.0 for v in values]
        axes.errorbar(
            range(len(lengths)), means, deviations, marker="o", capsize=3, label=NAMES[encoding]
        )
    axes.set_xticks(range(len(lengths)), [f"{length}-cycles" for length in lengths])
    axes.set_ylabel("log10 of the test MAE")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure


def by_encoding(record: dict) -> dict[str, list[dict]]:
    """The runs of each encoding, in the order of `NAMES`."""
    runs = {name: [r for r in record["runs"] if r["encoding"] == name] for name in NAMES}
    return {name: own for name, own in runs.items() if own}


def logarithms(runs: list[dict], length: str) -> list[float]:
    return [math.log10(run["test_mae"][length]) for run in runs]


def spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def records() -> dict[str, dict]:
    """The records that are there."""
    paths = {name: RESULTS / f"{name}.json" for name in RECORDS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def update_page(page: Path = PAGE, figures: Path = FIGURES) -> None:
    found = records()
    tables = {name: markdown(record) for name, record in found.items()}
    page.write_text(with_tables(page.read_text(), tables))
    for name, record in found.items():
        save_figure(plot(record), figures / f"{name}.svg")


if __name__ == "__main__":
    update_page()
