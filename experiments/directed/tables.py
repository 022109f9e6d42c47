"""The tables in ``docs/directed.md``, from the records: ``python experiments/directed/tables.py`` writes them anew."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "directed.md"

NAMES = {
    "none": "none",
    "laplacian": "Laplacian (q = 0)",
    "single_q": "magnetic Laplacian, one q",
    "unscaled": "magnetic Laplacian, one q, entries 1/√n",
    "multi_q": "magnetic Laplacian, several q",
    "walks": "directed walks",
    "data_flow": "magnetic Laplacian of the data-flow graph, one q",
}
HEADINGS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "rocauc": "ROC-AUC",
    "ap": "average precision",
    "f1": "F1",
}


def markdown(record: dict) -> str:
    """The table of one experiment: mean ± unbiased standard deviation over seeds."""
    runs = record["runs"]
    metrics = [name for name in runs[0]["test"] if name in HEADINGS]
    groups = list(runs[0].get("test_accuracy_by_group", ()))
    header = [
        "encoding",
        *(f"test {HEADINGS[metric]}" for metric in metrics),
        *(f"accuracy, {group} wires" for group in groups),
        "parameters",
        "encoding",
        "training",
        "seeds",
    ]
    rows = []
    for encoding in dict.fromkeys(run["encoding"] for run in runs):
        own = [run for run in runs if run["encoding"] == encoding]
        rows.append(
            [
                NAMES.get(encoding, encoding),
                *(spread([run["test"][metric] for run in own]) for metric in metrics),
                *(
                    spread([run["test_accuracy_by_group"][group] for run in own])
                    for group in groups
                ),
                f"{own[0]['num_parameters']:,}",
                f"{statistics.mean(run['encoding_seconds'] for run in own):.0f} s",
                f"{statistics.mean(run['training_seconds'] for run in own):.0f} s",
                str(len(own)),
            ]
        )
    rows.sort(
        key=lambda row: list(NAMES.values()).index(row[0]) if row[0] in NAMES.values() else 99
    )
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.3f}"
    return f"{mean} ± {statistics.stdev(values):.3f}" if len(values) > 1 else mean


def with_tables(page: str) -> str:
    """The page with the table of each record between its markers."""

    def table(match: re.Match[str]) -> str:
        path = ROOT / "experiments" / "results" / f"{match[1]}.json"
        if not path.exists():  # not run yet
            return match[0]
        record = json.loads(path.read_text())
        return f"<!-- table: {match[1]} -->\n{markdown(record)}\n<!-- end -->"

    return re.sub(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


def update_page() -> None:
    PAGE.write_text(with_tables(PAGE.read_text()))


if __name__ == "__main__":
    update_page()
