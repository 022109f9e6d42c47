"""Scores of a whole split: OGB's own evaluators for OGB's datasets and for names, torchmetrics for all others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchmetrics.functional import classification, regression

from graphpe.tasks import Metric, Task
from graphpe.training.collector import Evaluation
from graphpe.training.losses import mean_over_graphs
from graphpe.training.subtokens import word_lists

# OGB's names of the metrics.
_OGB_METRICS: dict[str, Metric] = {
    "rmse": "rmse",
    "rocauc": "rocauc",
    "ap": "ap",
    "acc": "accuracy",
}
# Any OGB dataset of names: its evaluator compares lists of words.
_OGB_NAMES = "ogbg-code2"

_NEED_BOTH_CLASSES = ("rocauc", "ap")
_NEED_TWO_LABELS = (*_NEED_BOTH_CLASSES, "balanced_accuracy", "r2")


def scores(task: Task, evaluation: Evaluation, evaluator: str | None = None) -> dict[Metric, float]:
    """The task's metrics on a whole split, averaged over the targets; missing labels (NaN) are left out.

    ROC-AUC and average precision skip a target without both classes, as OGB does, and so does balanced accuracy, which
    is the mean of the recalls of the classes that the labels have. Where no target can be scored, one of
    ``task.more_metrics`` is NaN; `why_unscorable` says why.

    Args:
        task: What is predicted, and the metrics.
        evaluation: Outputs (logits for classification) and targets.
        evaluator: Name of an OGB dataset, such as ``"ogbg-molesol"``. Its official evaluator computes the
            metric if it is the dataset's official one.

    Raises:
        ValueError: If an output is not finite, or no target can be scored by ``task.metric``.
    """
    # float64 on the host: sums over a split don't depend on the network's precision or device.
    output, target = evaluation.output.cpu().double(), evaluation.target.cpu().double()
    _check_finite(task, evaluation)
    if task.kind == "subtokens":
        return {"f1": _f1_of_names(output, target)}
    found = {}
    for metric in task.metrics:
        reason = why_unscorable(metric, target)
        if reason is not None and metric == task.metric:
            raise ValueError(reason)
        if reason is not None:
            found[metric] = math.nan
            continue
        official = (
            None if evaluator is None else _official_score(evaluator, task, metric, output, target)
        )
        if official is not None:
            found[metric] = official
        elif metric in ("rmse", "mae") and task.average == "graphs":
            found[metric] = _error_over_graphs(metric, output, target, evaluation.numbers)
        else:
            found[metric] = _torchmetrics_score(task, metric, output, target)
    return found


def _check_finite(task: Task, evaluation: Evaluation) -> None:
    finite = torch.isfinite(evaluation.output).all(dim=1)
    if not finite.all():
        raise ValueError(
            f"the network's outputs are not finite for {int((~finite).sum())} of {len(finite)} {task.level}s, so "
            "training has diverged; lower `model.lr` or set `trainer.gradient_clip_val`"
        )


def why_unscorable(metric: Metric, target: Tensor) -> str | None:
    """What is missing, and what to do, if no target can be scored; else None."""
    if metric in _NEED_TWO_LABELS:
        scorable = _varies(target).any()
        both = "at least one target with both classes"
        wanted = both if metric in _NEED_BOTH_CLASSES else "two different labels"
    else:
        scorable = (~torch.isnan(target)).any()
        wanted = "at least one label"
    if scorable:
        return None
    return (
        f"metric {metric!r} needs {wanted}, but the {len(target)} evaluated rows of `y` have none; choose another "
        "metric or a split that has them, of which trainer.limit_val_batches and trainer.limit_test_batches, where "
        "set, leave out a part"
    )


def _varies(target: Tensor) -> Tensor:
    """Whether a column has two different labels."""
    present = ~torch.isnan(target)
    largest = torch.where(present, target, -torch.inf).amax(dim=0, keepdim=True)
    return (present & (target < largest)).any(dim=0)


def _official_score(
    evaluator: str, task: Task, metric: Metric, output: Tensor, target: Tensor
) -> float | None:
    """OGB's official number, or None if the dataset's official metric is another one."""
    official = _ogb_evaluator(evaluator)
    if _OGB_METRICS.get(official.eval_metric) != metric:
        return None
    if task.kind == "multiclass":
        output = output.argmax(dim=1, keepdim=True)
    elif metric == "accuracy":
        output = (output > 0).double()
    result = official.eval({"y_true": target.numpy(), "y_pred": output.numpy()})
    return float(result[official.eval_metric])


def _f1_of_names(said: Tensor, words: Tensor) -> float:
    """The mean over graphs of the F1 of the set of words that were said, as OGB computes it."""
    result = _ogb_evaluator(_OGB_NAMES).eval(
        {"seq_ref": word_lists(words), "seq_pred": word_lists(said)}
    )
    return float(result["F1"])


def _ogb_evaluator(name: str) -> Any:
    from graphpe.data.ogb_import import import_ogb

    graphs = import_ogb()
    if not name.startswith("ogbn-"):
        return graphs.Evaluator(name)
    from ogb import nodeproppred

    return nodeproppred.Evaluator(name)


def _error_over_graphs(metric: Metric, output: Tensor, target: Tensor, numbers: Tensor) -> float:
    """The mean error in each graph, averaged over graphs; for ``"rmse"`` the root of the mean squared error."""
    present = ~torch.isnan(target)
    difference = torch.where(present, output - target, 0.0)
    _, graph = numbers.unique(return_inverse=True)
    if metric == "mae":
        return float(mean_over_graphs(difference.abs(), present, graph))
    return float(mean_over_graphs(difference.square(), present, graph).sqrt())


def _torchmetrics_score(task: Task, metric: Metric, output: Tensor, target: Tensor) -> float:
    """The mean over targets of torchmetrics' number on the labels that are present."""
    if task.kind == "multiclass":
        output = output.argmax(dim=1, keepdim=True).double()
    elif metric in ("accuracy", "balanced_accuracy", "f1"):
        output = (output > 0).double()
    found = []
    for prediction, label in zip(output.T, target.T, strict=True):
        present = ~torch.isnan(label)
        prediction, label = prediction[present], label[present]
        if len(label) == 0 or (metric in _NEED_TWO_LABELS and len(label.unique()) < 2):
            continue
        found.append(_SCORES[metric](prediction, label))
    return float(torch.stack(found).mean())


def _ranks(prediction: Tensor) -> Tensor:
    """Ranks in [0, 1]: torchmetrics would squash logits by a sigmoid, which ties the large ones."""
    values, ranks = prediction.unique(return_inverse=True)
    return ranks / len(values)


def _accuracy(prediction: Tensor, label: Tensor) -> Tensor:
    return (prediction == label).double().mean()


def _balanced_accuracy(prediction: Tensor, label: Tensor) -> Tensor:
    """The mean of the recalls of the classes that the labels have."""
    recalls = [_accuracy(prediction[label == c], label[label == c]) for c in label.unique()]
    return torch.stack(recalls).mean()


_SCORES: dict[Metric, Callable[[Tensor, Tensor], Tensor]] = {
    "mae": regression.mean_absolute_error,
    "rmse": lambda prediction, label: regression.mean_squared_error(
        prediction, label, squared=False
    ),
    "rocauc": lambda prediction, label: classification.binary_auroc(
        _ranks(prediction), label.long()
    ),
    "ap": lambda prediction, label: classification.binary_average_precision(
        _ranks(prediction), label.long()
    ),
    "r2": regression.r2_score,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": lambda prediction, label: classification.binary_f1_score(prediction.long(), label.long()),
}
