"""The table at the end of a training, and the same as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphpe.data import Baseline


@dataclass(frozen=True)
class RunSummary:
    """What came out of a training.

    Args:
        name: Name of the experiment.
        metric: The task's metric.
        test: Its value on the test part, by the best checkpoint; None if nothing was tested.
        valid: Its best value on the validation part.
        best_epoch: The epoch of that value, from 1.
        num_parameters: Number of parameters that were trained.
        encoding_seconds: Time for encoding the dataset.
        training_seconds: Time for training, validation included.
        seed: Seed of the run.
        folder: Folder of the logs.
        checkpoint: The best checkpoint.
        last_checkpoint: The checkpoint to resume from.
        predictions: The predictions on the test part.
        baselines: What others reached.
        more: Further metrics of the task on the test part, NaN where they could not be scored, and the rate of
            positives where targets are yes or no.
    """

    name: str
    metric: str
    test: float | None
    valid: float | None
    best_epoch: int | None
    num_parameters: int
    encoding_seconds: float
    training_seconds: float
    seed: int
    folder: str
    checkpoint: str
    last_checkpoint: str
    predictions: str
    baselines: Sequence[Baseline] = ()
    more: dict[str, float] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Writes the summary as JSON; the file appears once it is complete."""
        unfinished = path.with_name(path.name + ".tmp")
        unfinished.write_text(json.dumps(_json(asdict(self)), indent=2, allow_nan=False) + "\n")
        os.replace(unfinished, path)

    def show(self, console: Console) -> None:
        """Prints the result beside the baselines, and where things are."""
        results = Table(title=self.name, title_justify="left")
        results.add_column(f"test {self.metric}", justify="right", no_wrap=True)
        results.add_column("model", overflow="fold")
        results.add_column("source", overflow="fold")
        results.add_row(_number(self.test), "this run", f"seed {self.seed}", style="bold")
        for baseline in self.baselines:
            results.add_row(_published(baseline), baseline.model, baseline.reference)
        console.print(results)
        valid = _number(self.valid)
        facts = {
            **{f"test {name}": _number(value) for name, value in self.more.items()},
            f"best valid {self.metric}": f"{valid} (epoch {self.best_epoch})",
            "parameters": f"{self.num_parameters:,}",
            "time for encoding": _duration(self.encoding_seconds),
            "time for training": _duration(self.training_seconds),
            "checkpoint": self.checkpoint,
            "resume": self.last_checkpoint,
            "logs": self.folder,
            "predictions": self.predictions,
        }
        for name, fact in facts.items():
            # Paths are not broken, so that they can be copied.
            console.print(f"{name:<24}  {fact}", soft_wrap=True, highlight=False)


def _json(value: Any) -> Any:
    """The value with None for numbers that are not finite, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def _published(baseline: Baseline) -> str:
    """Mean and standard deviation with three decimals, or with four if one of them has four."""
    numbers = [baseline.mean] if baseline.std is None else [baseline.mean, baseline.std]
    decimals = 3 if all(round(number, 3) == number for number in numbers) else 4
    return " ± ".join(f"{number:.{decimals}f}" for number in numbers)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
