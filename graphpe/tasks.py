"""What a dataset offers to a network: its input features and the task to learn, declared in its card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TaskKind = Literal["regression", "binary", "multiclass"]
Metric = Literal["rmse", "mae", "rocauc", "ap", "accuracy"]

# Whether a larger value of the metric is better.
METRIC_MODES: dict[str, Literal["min", "max"]] = {
    "rmse": "min",
    "mae": "min",
    "rocauc": "max",
    "ap": "max",
    "accuracy": "max",
}
_METRICS_OF_KIND = {
    "regression": ("rmse", "mae"),
    "binary": ("rocauc", "ap", "accuracy"),
    "multiclass": ("accuracy",),
}


@dataclass(frozen=True)
class Task:
    """What is predicted for each graph.

    Args:
        kind: ``"regression"``; ``"binary"`` (one or many yes/no targets, NaN = missing); ``"multiclass"``.
        num_targets: Number of targets per graph (for ``"multiclass"`` always 1).
        num_classes: Number of classes for ``"multiclass"``; otherwise unused.
        metric: The metric that selects the checkpoint and is reported.
        loss: ``"l1"`` or ``"mse"`` for regression; the other kinds have one loss each (logistic, cross-entropy).
    """

    kind: TaskKind
    metric: Metric
    num_targets: int = 1
    num_classes: int = 2
    loss: Literal["l1", "mse"] = "l1"

    def __post_init__(self) -> None:
        if self.kind not in _METRICS_OF_KIND:
            raise ValueError(
                f"task.kind is {self.kind!r}; it must be one of {sorted(_METRICS_OF_KIND)}"
            )
        if self.metric not in _METRICS_OF_KIND[self.kind]:
            raise ValueError(
                f"task.metric {self.metric!r} does not fit task.kind {self.kind!r}; "
                f"choose one of {list(_METRICS_OF_KIND[self.kind])}"
            )
        if self.num_targets < 1:
            raise ValueError(f"task.num_targets is {self.num_targets}; it must be at least 1")
        if self.kind == "multiclass" and self.num_targets != 1:
            raise ValueError("a multiclass task has num_targets = 1; set num_classes instead")

    @property
    def out_channels(self) -> int:
        """Number of outputs that a network needs."""
        return self.num_classes if self.kind == "multiclass" else self.num_targets

    @property
    def mode(self) -> Literal["min", "max"]:
        """Whether the metric is to be minimised or maximised."""
        return METRIC_MODES[self.metric]


@dataclass(frozen=True)
class Features:
    """The input features of a dataset, for the embedding at the bottom of a network.

    Integer columns are embedded, one table per column, and summed; float columns go through a linear layer.

    Args:
        node_categories: Number of categories of each integer column of ``x``; empty if ``x`` is not integer.
        node_continuous: Number of float columns of ``x``.
        edge_categories: Number of categories of each integer column of ``edge_attr``.
        edge_continuous: Number of float columns of ``edge_attr``.
    """

    node_categories: tuple[int, ...] = ()
    node_continuous: int = 0
    edge_categories: tuple[int, ...] = ()
    edge_continuous: int = 0

    def __post_init__(self) -> None:
        for level in ("node", "edge"):
            if getattr(self, f"{level}_categories") and getattr(self, f"{level}_continuous"):
                raise ValueError(
                    f"features: {level}_categories and {level}_continuous exclude each other, "
                    "since one tensor holds the columns"
                )
