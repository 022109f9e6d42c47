"""The tables and figures of stability in ``docs/stability.md``: ``python -m experiments.stability.report``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from experiments.reporting import RESULTS, ROOT, save_figure, table, with_tables
from experiments.stability.encoders import CASES
from experiments.stability.plot import plot_gaps, plot_jitter

PAGE = ROOT / "docs" / "stability.md"
FIGURES = ROOT / "docs" / "figures"
RECORD = RESULTS / "stability.json"
_QUANTILES = ("median", "largest")
_SHOWN = ("1e-05", "0.001", "edge removed")


def tables(record: dict) -> dict[str, str]:
    """All tables, by name."""
    return {
        **{
            f"stability-{kind}-{k}": change_table(record, kind, k)
            for kind in ("molecules", "random")
            for k in ("8", "all")
        },
        "stability-cut-gap": gap_table(record, "8", "cut"),
        "stability-inside-gap": gap_table(record, "all", "inside"),
    }


def change_table(record: dict, kind: str, k: str) -> str:
    """Median and largest change of the output for some changes of the graphs."""
    titles = [name if " " in name else f"ε = {float(name):.0e}" for name in _SHOWN]
    header = [
        "encoder",
        *(f"{title}, {what}" for title in titles for what in _QUANTILES),
    ]

    def cells(changes: dict) -> list[str]:
        return [number(changes["change"][name][q]) for name in _SHOWN for q in _QUANTILES]

    return table(header, _rows(record, kind, k, cells, len(header) - 1))


def gap_table(record: dict, k: str, gap: str) -> str:
    """The largest ratio of the changes of output and Laplacian in molecules, by gap."""
    bounds = record["settings"]["gap_bins"]
    names = [
        "gap 0",
        *(f"to {high:g}" for high in bounds[1:]),
        f"over {bounds[-1]:g}",
    ]

    def cells(changes: dict) -> list[str]:
        bins = changes[f"ratio_by_{gap}_gap"]
        return ["–" if found is None else number(found["largest"]) for found in bins]  # noqa: RUF001

    spectral = [name for name, case in CASES.items() if case.spectral]
    rows = _rows(record, "molecules", k, cells, len(names), spectral)
    return table(["encoder", *names], rows)


def _rows(
    record: dict,
    kind: str,
    k: str,
    cells: Callable[[dict], list[str]],
    columns: int,
    names: list[str] | None = None,
) -> list[list[str]]:
    rows = []
    for name in CASES if names is None else names:
        found = record["results"].get(f"{kind}, {k}, {name}")
        if found is None:
            continue
        changes = found["changes"]
        constant = ["constant"] + [""] * (columns - 1)
        rows.append([CASES[name].name, *(constant if changes is None else cells(changes))])
    return rows


def number(value: float) -> str:
    """Two significant digits."""
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:#.2g}".rstrip(".") if value < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def update_page(page: Path = PAGE, figures: Path = FIGURES, record: Path = RECORD) -> None:
    content = json.loads(record.read_text())
    page.write_text(with_tables(page.read_text(), tables(content)))
    save_figure(plot_jitter(content), figures / "stability-jitter.svg")
    save_figure(plot_gaps(content), figures / "stability-gaps.svg")


if __name__ == "__main__":
    update_page()
