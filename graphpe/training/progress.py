"""Progress of a training: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ProgressBar
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from graphpe.data import GraphDataModule
from graphpe.tasks import Task
from graphpe.training.module import GraphPredictor

_SECONDS_BETWEEN_LINES = 10.0
_WIDTH_WITH_LOSS = 100  # of the screen; on a narrower one the times would be cut


class TrainingProgress(ProgressBar):
    """One bar over all epochs with the loss and the validation metric; a few plain lines without a terminal.

    Args:
        console: Where to draw; None takes stderr.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console or Console(stderr=True)
        self._progress: Progress | None = None
        self._enabled = True
        self._last_line = -math.inf

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def print(self, *args: Any, **kwargs: Any) -> None:
        self._console.print(*args, **kwargs)

    def setup(self, trainer: Trainer, pl_module: GraphPredictor, stage: str) -> None:
        super().setup(trainer, pl_module, stage)
        if not trainer.is_global_zero:
            self.disable()

    # --- training --------------------------------------------------------------------------------------------

    def on_train_start(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        steps = trainer.num_training_batches * (trainer.max_epochs or 0)
        done = trainer.current_epoch * trainer.num_training_batches
        self._start("training", steps if 0 < steps < math.inf else None, done)
        if (
            self._enabled
            and self._progress is None
            and isinstance(trainer.datamodule, GraphDataModule)
        ):
            print(loaded_line(trainer.datamodule), file=sys.stderr, flush=True)

    def on_train_epoch_start(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        if self._progress is not None:
            self._progress.update(self._task, description=_epoch(trainer))

    def on_train_batch_end(self, *_: Any) -> None:
        self._advance()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        loss, metric = _loss(trainer), _metric(trainer, pl_module.task)
        values = ", ".join(filter(None, (loss, metric)))
        if self._progress is not None:
            is_wide = self._console.width >= _WIDTH_WITH_LOSS
            self._progress.update(self._task, values=values if is_wide else metric or loss)
        elif self._enabled and self._is_due(trainer):
            self._last_line = time.monotonic()
            print(f"{_epoch(trainer)}: {values}", file=sys.stderr, flush=True)

    def on_train_end(self, *_: Any) -> None:
        self._stop()

    # --- evaluation ------------------------------------------------------------------------------------------

    def on_validation_start(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        if not _is_fitting(trainer):
            self._start("validating", sum(trainer.num_val_batches))

    def on_validation_batch_end(self, trainer: Trainer, *_: Any) -> None:
        if not _is_fitting(trainer):
            self._advance()

    def on_validation_end(self, trainer: Trainer, *_: Any) -> None:
        if not _is_fitting(trainer):
            self._stop()

    def on_test_start(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        self._start("testing", sum(trainer.num_test_batches))

    def on_test_batch_end(self, *_: Any) -> None:
        self._advance()

    def on_test_end(self, *_: Any) -> None:
        self._stop()

    def on_predict_start(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        self._start("predicting", sum(trainer.num_predict_batches))

    def on_predict_batch_end(self, *_: Any) -> None:
        self._advance()

    def on_predict_end(self, *_: Any) -> None:
        self._stop()

    def on_exception(self, *_: Any) -> None:
        self._stop()

    # --- the bar ---------------------------------------------------------------------------------------------

    def _start(self, description: str, total: float | None, done: int = 0) -> None:
        if not self._enabled or not self._console.is_terminal:
            return
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None, table_column=Column(max_width=40)),  # gives way to the others
            TextColumn("{task.fields[values]}"),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task(description, total=total, completed=done, values="")
        self._progress.start()

    def _advance(self) -> None:
        if self._progress is not None:
            self._progress.advance(self._task)

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _is_due(self, trainer: Trainer) -> bool:
        last_epoch = trainer.current_epoch + 1 == trainer.max_epochs
        return last_epoch or time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES


def _is_fitting(trainer: Trainer) -> bool:
    return trainer.state.fn == "fit"


def loaded_line(data: GraphDataModule) -> str:
    """What was done with the graphs before training."""
    count = data.num_loaded_graphs
    graphs = "1 graph" if count == 1 else f"{count:,} graphs"
    if not data.encodings:
        done = f"loaded {graphs}"
    elif data.encodes_batches:
        done = f"loaded {graphs}, which are encoded in batches"
    else:
        done = f"encoded {graphs} in {data.encoding_seconds:.1f} s"
    return f"{done}, training on {data.num_graphs['train']:,}"


def _epoch(trainer: Trainer) -> str:
    total = f"/{trainer.max_epochs}" if (trainer.max_epochs or -1) > 0 else ""
    return f"epoch {trainer.current_epoch + 1}{total}"


def _loss(trainer: Trainer) -> str:
    loss = trainer.callback_metrics.get("train/loss")
    return "" if loss is None else f"train/loss {float(loss):.4f}"


def _metric(trainer: Trainer, task: Task) -> str:
    """The validation metric and its best value so far."""
    name = f"valid/{task.metric}"
    if name not in trainer.callback_metrics:
        return ""
    value = float(trainer.callback_metrics[name])
    # The checkpoint callback, which knows the best value, has not seen this epoch yet.
    best = getattr(trainer.checkpoint_callback, "best_model_score", None)
    candidates = [value, *([] if best is None else [float(best)])]
    best = min(candidates) if task.mode == "min" else max(candidates)
    return f"{name} {value:.4f} (best {best:.4f})"
