"""The tables of a suite: Markdown, CSV, and on the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from graphpe.benchmark.results import Row, Spread, published

RULE = (
    "Mean ± unbiased standard deviation over the seeds. Test is the metric in the epoch with the best validation "
    "metric, valid is that best value."
)
_COLUMNS = {
    "network": "network",
    "encoding": "encoding",
    "test": "test {metric}",
    "valid": "valid {metric}",
    "parameters": "parameters",
    "epoch": "s / epoch",
    "encode": "encoding, s",
    "runs": "runs",
    "source": "source",
}
_TEXTS = {"network", "encoding", "runs", "source"}  # aligned to the left


def by_dataset(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows that there is something to show of, for each dataset."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.is_begun:
            found.setdefault(row.combination.dataset, []).append(row)
    return found


def heading(rows: Sequence[Row]) -> str:
    """The dataset of the rows, and which values of its metric are good."""
    better = "lower" if rows[0].task.mode == "min" else "higher"
    return f"{rows[0].combination.dataset}: {rows[0].metric}, {better} is better"


def markdown(name: str, rows: Sequence[Row]) -> str:
    """The page of a suite.

    Args:
        name: Name of the suite.
        rows: The results.
    """
    parts = [f"# {name}", RULE]
    for dataset in by_dataset(rows).values():
        parts += [f"## {heading(dataset)}", _dataset_table(dataset)]
        load = _load(dataset)
        if load:
            parts.append(load)
        split = (dataset[0].combination.config.get("card") or {}).get("split")
        if split:
            parts.append(f"Split: {split}.")
        errors = failures(dataset)
        if errors:
            parts.append("\n".join(f"- {line}" for line in errors))
    left_out = not_begun(rows)
    if left_out:
        parts.append(left_out)
    return "\n\n".join(parts) + "\n"


def show(name: str, rows: Sequence[Row], console: Console) -> None:
    """Prints the tables.

    Args:
        name: Name of the suite.
        rows: The results.
        console: Where to.
    """
    for dataset in by_dataset(rows).values():
        table = Table(title=f"{name}, {heading(dataset)}", title_justify="left")
        for key, text in _COLUMNS.items():
            is_text = key in _TEXTS
            table.add_column(
                text.format(metric=dataset[0].metric),
                justify="left" if is_text else "right",
                overflow="fold",
                no_wrap=not is_text,
            )
        for line in _lines(dataset):
            table.add_row(*line)
        console.print(table, highlight=False, markup=False)
        for line in failures(dataset):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    left_out = not_begun(rows)
    if left_out:
        console.print(left_out, highlight=False, markup=False, soft_wrap=True)


def csv_table(rows: Sequence[Row]) -> str:
    """All rows of all datasets, and what others reached, as CSV with whole numbers.

    Args:
        rows: The results.
    """
    file = io.StringIO()
    lines = [
        line
        for dataset in by_dataset(rows).values()
        for line in (*map(_values, dataset), *_published_values(dataset))
    ]
    names = dict.fromkeys(key for line in lines for key in line)
    writer = csv.DictWriter(file, list(names) or ["dataset"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], texts: Collection[str]
) -> str:
    """A table in Markdown.

    Args:
        header: Names of the columns.
        rows: The cells of each row.
        texts: Columns that are aligned to the left; the others are to the right.
    """
    rule = ["---" if name in texts else "--:" for name in header]
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *cells))


def failures(rows: Sequence[Row]) -> list[str]:
    """A line for each run that failed."""
    return [f"{result.run.name} failed: {result.error}" for row in rows for result in row.failed]


def not_begun(rows: Sequence[Row]) -> str:
    """What the tables leave out because there is nothing to show."""
    names = [row.combination.name for row in rows if not row.is_begun]
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"Not run yet: {len(names)} of {len(rows)} combinations ({shown})."


def spread_text(spread: Spread, decimals: int) -> str:
    """``mean ± std``; the mean alone of one value, a dash of none."""
    if spread.mean is None:
        return "-"
    mean = f"{spread.mean:.{decimals}f}"
    return mean if spread.std is None else f"{mean} ± {spread.std:.{decimals}f}"


def _dataset_table(rows: Sequence[Row]) -> str:
    header = [text.format(metric=rows[0].metric) for text in _COLUMNS.values()]
    return markdown_table(header, _lines(rows), _TEXTS)


def _load(rows: Sequence[Row]) -> str:
    """What seconds per epoch depend on, if it is known how many runs went on at a time."""
    # Of runs that were adopted no machine is known.
    machines = [
        result.circumstances.get("machine") or {} for row in rows for result in row.finished
    ]
    jobs = {machine["runs_at_a_time"] for machine in machines if "runs_at_a_time" in machine}
    if not jobs:
        return ""
    counts = " or ".join(map(str, sorted(jobs)))
    noun = "run" if jobs == {1} else "runs"
    return (
        f"Seconds per epoch were measured with {counts} {noun} at a time (`--jobs`); they depend on that, and on what "
        "else the machine did."
    )


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    """The cells of the rows of a dataset, and those of what others reached."""
    lines = []
    for row in rows:
        parameters = row.num_parameters
        lines.append(
            [
                row.combination.network,
                row.combination.encoding,
                spread_text(row.spread("test"), 4),
                spread_text(row.spread("valid"), 4),
                "-" if parameters is None else f"{parameters:,}",
                spread_text(Spread.of([row.spread("seconds_per_epoch").mean]), 2),
                spread_text(Spread.of([row.spread("encoding_seconds").mean]), 1),
                _runs(row),
                "this suite",
            ]
        )
    for baseline in published(rows):
        values = {"test": _published_text(baseline), "network": baseline["model"]}
        values["source"] = baseline["reference"]
        lines.append([values.get(key, "") for key in _COLUMNS])
    return lines


def _runs(row: Row) -> str:
    """How many runs the figures are of."""
    asked, got = len(row.results), len(row.spread("test").values)
    text = str(asked) if got == asked else f"{got} of {asked}"
    silent = len(row.finished) - got
    unfinished = sum(result.state == "unfinished" for result in row.results)
    notes = [
        *([f"{len(row.failed)} failed"] if row.failed else []),
        *([f"{silent} without a value"] if silent else []),
        *([f"{unfinished} unfinished"] if unfinished else []),
    ]
    return ", ".join([text, *notes])


def _published_text(baseline: Mapping[str, Any]) -> str:
    """A published value with three decimals, or four if it has four."""
    numbers = [number for number in (baseline["mean"], baseline["std"]) if number is not None]
    decimals = 3 if all(round(number, 3) == number for number in numbers) else 4
    return " ± ".join(f"{number:.{decimals}f}" for number in numbers)


def _values(row: Row) -> dict[str, Any]:
    test, valid = row.spread("test"), row.spread("valid")
    more = dict.fromkeys(name for result in row.finished for name in result.more)
    return {
        "dataset": row.combination.dataset,
        "network": row.combination.network,
        "encoding": row.combination.encoding,
        "metric": row.metric,
        "test_mean": test.mean,
        "test_std": test.std,
        "valid_mean": valid.mean,
        "valid_std": valid.std,
        "runs": len(test.values),
        "asked": len(row.results),
        "failed": len(row.failed),
        "num_parameters": row.num_parameters,
        "seconds_per_epoch": row.spread("seconds_per_epoch").mean,
        "encoding_seconds": row.spread("encoding_seconds").mean,
        "source": "this suite",
        **{
            f"test_{name}_{kind}": getattr(
                Spread.of([result.more.get(name) for result in row.finished]), kind
            )
            for name in more
            for kind in ("mean", "std")
        },
    }


def _published_values(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": rows[0].combination.dataset,
            "network": baseline["model"],
            "metric": rows[0].metric,
            "test_mean": baseline["mean"],
            "test_std": baseline["std"],
            "source": baseline["reference"],
        }
        for baseline in published(rows)
    ]
