"""Writes and shows what came out of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from graphpe.benchmark.ogb import leaderboard_report
from graphpe.benchmark.plan import Resolve, Run
from graphpe.benchmark.plot import save_plot
from graphpe.benchmark.reading import read_yaml
from graphpe.benchmark.results import read_results, record
from graphpe.benchmark.run_folder import write_whole
from graphpe.benchmark.suite import Suite
from graphpe.benchmark.tables import csv_table, markdown, show


def write_report(
    suite: Suite, config: str, root: Path, runs: Sequence[Run], resolve: Resolve, console: Console
) -> None:
    """Writes ``results.md``, ``.csv``, ``.json`` and ``.svg``, and ``ogb.md``, and prints the tables.

    Args:
        suite: The suite.
        config: Its file.
        root: ``<folder>/<suite>``, where the files go.
        runs: All runs of the suite.
        resolve: Reads a configuration.
        console: Where to print.
    """
    rows = read_results(root, runs, resolve)
    show(suite.name, rows, console)
    if not any(row.is_begun for row in rows):
        return
    command = f"graphpe benchmark --config {config}"
    texts = {
        "results.md": markdown(suite.name, rows),
        "results.csv": csv_table(rows),
        "results.json": record(suite.name, command, read_yaml(config, "--config"), rows),
        "ogb.md": leaderboard_report(rows),
    }
    root.mkdir(parents=True, exist_ok=True)
    written = [root / name for name, text in texts.items() if text]
    for path in written:
        write_whole(path, texts[path.name])
    try:
        save_plot(rows, root / "results.svg")
        written.append(root / "results.svg")
    except ImportError as error:
        console.print(f"no plot: {error}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"written: {', '.join(map(str, written))}", highlight=False, markup=False, soft_wrap=True
    )
