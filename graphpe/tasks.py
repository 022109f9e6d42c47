"""What a dataset offers to a network: its input features and the task to learn, declared in its card."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Literal, get_args

from graphpe.checks import require_choice, require_positive_integer

TaskKind = Literal["regression", "binary", "multiclass", "subtokens"]
TaskLevel = Literal["graph", "node", "edge", "pair"]
Metric = Literal["rmse", "mae", "r2", "rocauc", "ap", "accuracy", "balanced_accuracy", "f1"]

# Whether a larger value of the metric is better.
METRIC_MODES: dict[str, Literal["min", "max"]] = {
    "rmse": "min",
    "mae": "min",
    "r2": "max",
    "rocauc": "max",
    "ap": "max",
    "accuracy": "max",
    "balanced_accuracy": "max",
    "f1": "max",
}
_METRICS_OF_KIND = {
    "regression": ("rmse", "mae", "r2"),
    "binary": ("rocauc", "ap", "accuracy", "balanced_accuracy", "f1"),
    "multiclass": ("accuracy", "balanced_accuracy"),
    "subtokens": ("f1",),
}


@dataclass(frozen=True)
class Task:
    """What is predicted for each graph, or for each node, edge or pair of nodes.

    Args:
        kind: ``"regression"``; ``"binary"`` (one or many yes/no targets, NaN = missing); ``"multiclass"``;
            ``"subtokens"`` (the words of a name, in their order, out of a vocabulary).
        num_targets: Number of targets per row (for ``"multiclass"`` always 1); for ``"subtokens"`` the number of words
            that are predicted.
        num_classes: Number of classes for ``"multiclass"``; for ``"subtokens"`` the number of words in the vocabulary
            and two more, for an unknown word and for the end of the name. Otherwise unused.
        metric: The metric that selects the checkpoint and is reported.
        loss: ``"l1"`` or ``"mse"`` for regression; the other kinds have one loss each (logistic, cross-entropy).
        level: What a row of ``y`` describes: ``"graph"``, ``"node"``, ``"edge"`` (the columns of ``edge_index``, in
            their order), or ``"pair"`` (all ordered pairs of nodes of a graph, row-major, as in a pair field). A row of
            NaN is left out.
        average: How the rows of a batch or split are averaged in the loss, and in ``"rmse"`` and ``"mae"``:
            ``"rows"`` counts each row alike; ``"graphs"`` averages in each graph first, so that graphs count alike.
        class_weights: What a label of a ``"multiclass"`` task counts in the loss: ``"equal"``, or ``"batch"``: the
            share of the batch's labels that are of other classes.
        more_metrics: Further metrics to report.
        unknown_penalty: For ``"subtokens"``: subtracted from the probability of an unknown word before the most likely
            word is taken.
        end_penalty: The same for the end of the name.

    Raises:
        ValueError: If a setting is of another kind or out of range, or two of them contradict each other.
    """

    kind: TaskKind
    metric: Metric
    num_targets: int = 1
    num_classes: int = 2
    loss: Literal["l1", "mse"] = "l1"
    level: TaskLevel = "graph"
    average: Literal["rows", "graphs"] = "rows"
    class_weights: Literal["equal", "batch"] = "equal"
    more_metrics: tuple[Metric, ...] = ()
    unknown_penalty: float = 0.0
    end_penalty: float = 0.0

    def __post_init__(self) -> None:
        require_choice("task.kind", self.kind, sorted(_METRICS_OF_KIND))
        if not isinstance(self.more_metrics, list | tuple):
            raise ValueError(
                f"task.more_metrics is {self.more_metrics!r}; it must be a list of metrics, such as "
                f"[{_METRICS_OF_KIND[self.kind][0]}]"
            )
        object.__setattr__(self, "more_metrics", tuple(self.more_metrics))
        self._check_metric("metric", self.metric)
        for metric in self.more_metrics:
            self._check_metric("more_metrics", metric)
        require_choice("task.loss", self.loss, ("l1", "mse"))
        require_choice("task.level", self.level, get_args(TaskLevel))
        require_choice("task.average", self.average, ("rows", "graphs"))
        require_choice("task.class_weights", self.class_weights, ("equal", "batch"))
        require_positive_integer("task.num_targets", self.num_targets)
        require_positive_integer("task.num_classes", self.num_classes)
        _require_finite("task.unknown_penalty", self.unknown_penalty)
        _require_finite("task.end_penalty", self.end_penalty)
        if self.kind == "multiclass" and self.num_targets != 1:
            raise ValueError(
                f"a multiclass task has num_targets = 1, but task.num_targets is {self.num_targets}; "
                "set num_classes instead"
            )
        if self.kind == "multiclass" and self.num_classes < 2:
            raise ValueError(
                f"task.num_classes is {self.num_classes}; a multiclass task needs an integer >= 2"
            )
        if self.class_weights == "batch" and (self.kind, self.average) != ("multiclass", "rows"):
            raise ValueError(
                "task.class_weights 'batch' is for kind 'multiclass' with average 'rows', but kind is "
                f"{self.kind!r} and average {self.average!r}"
            )
        if self.kind == "subtokens" and (self.level != "graph" or self.num_classes < 3):
            raise ValueError(
                f"a subtokens task has level 'graph' and at least 3 classes (a word, unknown, end), but level is "
                f"{self.level!r} and num_classes {self.num_classes}"
            )

    def _check_metric(self, name: str, metric: object) -> None:
        if metric not in _METRICS_OF_KIND[self.kind]:
            raise ValueError(
                f"task.{name} {metric!r} does not fit task.kind {self.kind!r}; "
                f"choose one of {list(_METRICS_OF_KIND[self.kind])}"
            )

    @property
    def out_channels(self) -> int:
        """Number of outputs per row that a network needs."""
        if self.kind == "subtokens":
            return self.num_targets * self.num_classes
        return self.num_classes if self.kind == "multiclass" else self.num_targets

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All metrics to report, the one that selects the checkpoint first."""
        return tuple(dict.fromkeys((self.metric, *self.more_metrics)))

    @property
    def mode(self) -> Literal["min", "max"]:
        """Whether the metric is to be minimised or maximised."""
        return METRIC_MODES[self.metric]


def _require_finite(name: str, value: object) -> None:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value)):
        raise ValueError(f"{name} is {value!r}; it must be a finite number")


@dataclass(frozen=True)
class Features:
    """The input features of a dataset, for the embedding at the bottom of a network.

    Integer columns are embedded, one table per column, and summed; float columns go through a linear layer. Ordinal
    columns are whole numbers without a largest one, such as positions: they become sinusoids and then go through a
    linear layer, so that a network can meet larger ones than in training.

    Args:
        node_categories: Number of categories of each integer column of ``x``; empty if ``x`` is not integer.
        node_continuous: Number of float columns of ``x``.
        node_ordinal: Number of ordinal columns of ``x``, integers from 0.
        ordinal_base: The longest wavelength of the sinusoids is 2π times about this.
        edge_categories: Number of categories of each integer column of ``edge_attr``.
        edge_continuous: Number of float columns of ``edge_attr``.
    """

    node_categories: tuple[int, ...] = ()
    node_continuous: int = 0
    node_ordinal: int = 0
    ordinal_base: float = 10_000.0
    edge_categories: tuple[int, ...] = ()
    edge_continuous: int = 0

    def __post_init__(self) -> None:
        for level, others in (("node", ("continuous", "ordinal")), ("edge", ("continuous",))):
            given = [
                f"{level}_{kind}"
                for kind in ("categories", *others)
                if getattr(self, f"{level}_{kind}")
            ]
            if len(given) > 1:
                raise ValueError(
                    f"features: {given[0]} and {given[1]} exclude each other, since one tensor holds the columns"
                )
        if not self.ordinal_base > 1:
            raise ValueError(
                f"features.ordinal_base is {self.ordinal_base}; it must be more than 1"
            )
