"""The tables of results in docs/benchmarks.md, from the records of `graphpe benchmark` in experiments/results.

cp runs/benchmark/SUITE/results.json experiments/results/benchmark-SUITE.json
python -m experiments.benchmark_results
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import yaml

from experiments.reporting import RESULTS, ROOT, table, with_tables

PAGE = ROOT / "docs" / "benchmarks.md"
# Which metrics of each suite's runs are shown, in the epoch with the best validation metric.
SUITES = {
    "ogb-mol": ("test",),
    "zinc-short": ("test",),
    "nodes": ("test",),
    "size-generalization": ("valid", "test"),
}


def tables() -> dict[str, str]:
    """The table of each suite that has a record."""
    records = {suite: RESULTS / f"benchmark-{suite}.json" for suite in SUITES}
    return {
        suite: markdown(json.loads(path.read_text()), SUITES[suite])
        for suite, path in records.items()
        if path.exists()
    }


def markdown(record: dict[str, Any], parts: Sequence[str] = ("test",)) -> str:
    """Metric of each network and encoding on each dataset: mean ± unbiased deviation (number of runs).

    Several parts are parted by arrows. Published results of the cards come last.
    """
    finished = [run for run in record["runs"] if run["state"] == "finished"]
    values: dict[tuple[str, str], dict[str, list[list[float]]]]
    values = defaultdict(lambda: defaultdict(list))
    metrics: dict[str, str] = {}
    for run in finished:
        metric = next(iter(run["test"]))
        metrics[run["dataset"]] = metric
        values[run["network"], run["encoding"]][run["dataset"]].append(
            [run[part][metric] for part in parts]
        )
    rows = [
        [f"{network}, {encoding}", *(_spread(found.get(dataset, [])) for dataset in metrics)]
        for (network, encoding), found in values.items()
    ]
    header = [" → ".join(parts), *(f"{dataset}, {metric}" for dataset, metric in metrics.items())]
    return table(header, rows + _published(list(metrics)))


def _spread(results: list[list[float]]) -> str:
    """Of the metrics of each run."""
    if not results:
        return ""
    means = []
    for values in zip(*results, strict=True):
        mean = f"{statistics.mean(values):.3f}"
        means.append(f"{mean} ± {statistics.stdev(values):.3f}" if len(values) > 1 else mean)
    return f"{' → '.join(means)} ({len(results)})"


def _published(datasets: list[str]) -> list[list[str]]:
    """A row for each published model, with the first three words of its source."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for dataset in datasets:
        path = ROOT / "datasets" / f"{dataset}.yaml"
        if not path.exists():  # of another split, which only the suite has
            continue
        card = yaml.safe_load(path.read_text())["card"]
        for baseline in card.get("baselines") or []:
            value = f"{baseline['mean']:.3f}"
            if baseline["std"] is not None:
                value += f" ± {baseline['std']:.3f}"
            source = baseline["reference"].partition(",")[0]
            found[f"published: {baseline['model']} ({source})"][dataset] = value
    return [[name, *(row.get(dataset, "") for dataset in datasets)] for name, row in found.items()]


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(), tables()))


if __name__ == "__main__":
    main()
