"""What came out of a suite: figures of runs, their means over seeds, and the record of all of it."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphpe.benchmark.fingerprint import fingerprint
from graphpe.benchmark.plan import Combination, Resolve, Run
from graphpe.benchmark.run_folder import RunFolder, State
from graphpe.tasks import Task


@dataclass(frozen=True)
class Result:
    """What came out of a run.

    Args:
        run: The run.
        state: How far it is.
        test: The metric on the test part, in the epoch with the best validation metric; None if there is none.
        valid: The metric on the validation part in that epoch.
        best_epoch: That epoch, from 1.
        epochs: The number of epochs that were trained.
        num_parameters: Number of parameters.
        encoding_seconds: Time for encoding the dataset.
        training_seconds: Time for training, validation included.
        more: Further metrics on the test part.
        error: Why it failed, if it did.
        circumstances: When and with what it was run.
        version: The folder with its files.
    """

    run: Run
    state: State
    test: float | None = None
    valid: float | None = None
    best_epoch: int | None = None
    epochs: int | None = None
    num_parameters: int | None = None
    encoding_seconds: float | None = None
    training_seconds: float | None = None
    more: Mapping[str, float | None] = field(default_factory=dict)
    error: str | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    version: Path | None = None

    @property
    def seconds_per_epoch(self) -> float | None:
        """Time for an epoch of training, validation included."""
        if self.epochs is None or self.training_seconds is None:
            return None
        return self.training_seconds / self.epochs


@dataclass(frozen=True)
class Spread:
    """Mean and unbiased standard deviation.

    Args:
        values: The values that there are.
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """The mean; None if there is no value."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def std(self) -> float | None:
        """``sqrt(sum((x - mean)^2) / (n - 1))``; None below two values."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread:
        """That of the values that are not None."""
        return cls(tuple(value for value in values if value is not None))


@dataclass(frozen=True)
class Row:
    """The results of a combination.

    Args:
        combination: The combination.
        results: One for each seed of the suite, in its order.
    """

    combination: Combination
    results: tuple[Result, ...]

    @property
    def metric(self) -> str:
        """The metric of the dataset."""
        return self.task.metric

    @cached_property
    def task(self) -> Task:
        """The task of the dataset."""
        return Task(**self.combination.config["task"])

    @property
    def finished(self) -> tuple[Result, ...]:
        """The results of the runs that are finished."""
        return tuple(result for result in self.results if result.state == "finished")

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results of the runs that failed."""
        return tuple(result for result in self.results if result.state == "failed")

    @property
    def is_begun(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.finished or self.failed)

    def spread(self, name: str) -> Spread:
        """Mean and standard deviation of a figure of `Result` over the finished runs."""
        return Spread.of([getattr(result, name) for result in self.finished])

    @property
    def num_parameters(self) -> int | None:
        """Number of parameters."""
        return self.finished[0].num_parameters if self.finished else None


def read_results(root: Path, runs: Sequence[Run], resolve: Resolve) -> list[Row]:
    """The results of all runs of a suite.

    Args:
        root: ``<folder>/<suite>``.
        runs: The runs.
        resolve: Reads a configuration.

    Returns:
        A row for each combination, in the order of the suite.
    """
    found: dict[str, list[Result]] = {}
    combinations = {}
    for run in runs:
        combinations[run.combination.name] = run.combination
        result = _read(run, RunFolder(root, run, resolve))
        found.setdefault(run.combination.name, []).append(result)
    return [Row(combinations[name], tuple(results)) for name, results in found.items()]


def record(name: str, command: str, suite: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """All results as JSON: how they were made, and the figures of each run.

    Args:
        name: Name of the suite.
        command: The command line.
        suite: The suite as its file gives it.
        rows: The results.
    """
    places: list[dict[str, Any]] = []
    runs = [_entry(result, places) for row in rows for result in row.results if row.is_begun]
    content = {
        "suite": name,
        "command": command,
        "rule": "test metric in the epoch with the best validation metric",
        "circumstances": places,
        "settings": suite,
        "runs": runs,
    }
    text = json.dumps(content, indent=1, allow_nan=False)
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", _on_one_line, text) + "\n"


def _on_one_line(innermost: re.Match[str]) -> str:
    """A list or an object without others inside."""
    return re.sub(r"\s*\n\s*", " ", innermost[0])


def _read(run: Run, folder: RunFolder) -> Result:
    state = folder.state()
    if state == "failed":
        return Result(run, state, error=folder.failure().error)
    if state != "finished":
        return Result(run, state)
    summary = folder.summary()
    return Result(
        run,
        state,
        **{
            name: summary[name]
            for name in (
                "test",
                "valid",
                "best_epoch",
                "num_parameters",
                "encoding_seconds",
                "training_seconds",
                "more",
            )
        },
        epochs=folder.epochs(),
        circumstances=folder.circumstances(),
        version=folder.finished_version(),
    )


def _entry(result: Result, places: list[dict[str, Any]]) -> dict[str, Any]:
    """A run in the record; what it has in common with others is put into ``places``."""
    run = result.run
    entry = {
        "dataset": run.combination.dataset,
        "encoding": run.combination.encoding,
        "network": run.combination.network,
        "seed": run.seed,
        "state": result.state,
    }
    if result.state == "failed":
        return entry | {"error": result.error}
    if result.state != "finished":
        return entry
    place = {key: value for key, value in result.circumstances.items() if key != "date"}
    if place not in places:
        places.append(place)
    metric = run.combination.config["task"]["metric"]
    return entry | {
        "test": {metric: result.test, **result.more},
        "valid": {metric: result.valid},
        "best_epoch": result.best_epoch,
        "epochs": result.epochs,
        "num_parameters": result.num_parameters,
        "encoding_seconds": round(result.encoding_seconds, 2),
        "training_seconds": round(result.training_seconds, 2),
        "configuration": fingerprint(run.config),
        "date": result.circumstances.get("date"),
        "circumstances": places.index(place),
    }


def published(rows: Sequence[Row]) -> Iterator[Mapping[str, Any]]:
    """What others reached on the dataset of the rows: baselines of the card, and those that the settings name.

    Args:
        rows: Rows of one dataset.
    """
    seen = []
    for row in rows:
        config = row.combination.config
        card = config.get("card") or {}
        for baseline in (
            *(config["experiment"]["baselines"] or ()),
            *(card.get("baselines") or ()),
        ):
            if baseline not in seen:
                seen.append(baseline)
                yield baseline
