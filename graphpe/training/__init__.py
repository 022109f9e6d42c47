"""Training under Lightning: the module, its callbacks, and the summary of a run."""

from __future__ import annotations

from graphpe.training.callbacks import BestCheckpoint, LastCheckpoint, PredictionWriter
from graphpe.training.module import GraphPredictor
from graphpe.training.pretraining import Pretrained, pretrain
from graphpe.training.progress import TrainingProgress
from graphpe.training.summary import RunSummary

__all__ = [
    "BestCheckpoint",
    "GraphPredictor",
    "LastCheckpoint",
    "PredictionWriter",
    "Pretrained",
    "RunSummary",
    "TrainingProgress",
    "pretrain",
]
