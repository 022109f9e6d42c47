"""Callbacks that keep what a training is for: the best checkpoint, one to resume from, and predictions."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from graphpe.tasks import Task
from graphpe.training.collector import Evaluation
from graphpe.training.losses import task_prediction
from graphpe.training.module import GraphPredictor
from graphpe.training.rows import PLACES


class _ResumableCheckpoint(ModelCheckpoint):
    """When training resumes in another folder, the best value so far stays the one to beat."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # Lightning forgets the best value, with a warning, where this folder is another one.
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})


class BestCheckpoint(_ResumableCheckpoint):
    """Keeps the weights with the best validation metric, as ``checkpoints/best.ckpt``.

    Args:
        task: The task, whose metric is monitored.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(
            monitor=f"valid/{task.metric}",
            mode=task.mode,
            filename="best",
            save_weights_only=True,
            enable_version_counter=False,
        )


class LastCheckpoint(_ResumableCheckpoint):
    """Keeps the state after the last epoch, as ``checkpoints/last.ckpt``, to resume from."""

    def __init__(self) -> None:
        super().__init__(filename="last", enable_version_counter=False)


class PredictionWriter(Callback):
    """Writes ``predictions.csv`` after a test or prediction run: one row per graph, node, edge or pair of nodes.

    The columns are ``graph`` (its number in the dataset); for a task of nodes ``node``, for one of edges ``edge`` (the
    column of ``edge_index``), ``source_node`` and ``target_node``, for one of pairs ``source_node`` and
    ``target_node``; after a test ``target_0``, ... (empty where missing); and ``prediction_0``, ``prediction_1``, ...:
    values for regression, probabilities for classification, word numbers (-1 for none) for names. After a test, nodes,
    edges and pairs without any target are left out.

    Args:
        path: The file; None writes ``predictions.csv`` into the folder of the run's logs, if there is one.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def on_test_epoch_end(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        self._write(trainer, pl_module, with_targets=True)

    def on_predict_epoch_end(self, trainer: Trainer, pl_module: GraphPredictor) -> None:
        self._write(trainer, pl_module, with_targets=False)

    def _write(self, trainer: Trainer, module: GraphPredictor, with_targets: bool) -> None:
        evaluation = module.evaluation()  # all processes take part
        if self.path is None and trainer.loggers and not trainer.fast_dev_run:
            self.path = Path(trainer.log_dir) / "predictions.csv"
        if trainer.is_global_zero and self.path is not None:
            write_predictions(self.path, module.task, evaluation, with_targets)


def write_predictions(path: Path, task: Task, evaluation: Evaluation, with_targets: bool) -> None:
    """Writes predictions as CSV; the file appears once it is complete.

    Args:
        path: The file; its folder is made if it isn't there.
        task: What was predicted.
        evaluation: Outputs and targets.
        with_targets: Whether the targets are written as well.
    """
    prediction = task_prediction(task, evaluation.output)
    header, columns = ["graph", *PLACES[task.level]], []
    if with_targets:
        header += [f"target_{i}" for i in range(evaluation.target.shape[1])]
        columns.append(evaluation.target)
    header += [f"prediction_{i}" for i in range(prediction.shape[1])]
    columns.append(prediction)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        rows = zip(evaluation.places.tolist(), torch.cat(columns, dim=1).tolist(), strict=True)
        writer.writerows([*place, *map(_cell, row)] for place, row in rows)
    os.replace(unfinished, path)


def _cell(value: float) -> str:
    """Nine digits give a float32 back exactly; a missing value is an empty cell."""
    return "" if math.isnan(value) else f"{value:.9g}"
