"""Scores of a whole split: OGB's own evaluators for OGB's datasets, torchmetrics for all others."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torchmetrics.functional import classification, regression

from graphpe.tasks import Metric, Task

# OGB's names of the metrics.
_OGB_METRICS: dict[str, Metric] = {
    "rmse": "rmse",
    "rocauc": "rocauc",
    "ap": "ap",
    "acc": "accuracy",
}


def score(task: Task, output: Tensor, target: Tensor, evaluator: str | None = None) -> float:
    """The task's metric on a whole split, averaged over the targets; missing labels (NaN) are left out.

    ROC-AUC and average precision skip a target without both classes, as OGB does.

    Args:
        task: What is predicted, and the metric.
        output: Network outputs ``[N, task.out_channels]``; logits for classification.
        target: Targets ``[N, num_targets]``.
        evaluator: Name of an OGB dataset, such as ``"ogbg-molesol"``. Its official evaluator computes the
            metric if it is the dataset's official one.

    Raises:
        ValueError: If an output is not finite, or no target can be scored.
    """
    finite = torch.isfinite(output).all(dim=1)
    if not finite.all():
        raise ValueError(
            f"the network's outputs are not finite for {int((~finite).sum())} of {len(output)} graphs, so "
            "training has diverged; lower `model.lr` or set `trainer.gradient_clip_val`"
        )
    _check_scorable(task, target)
    # float64 on the host: sums over a split don't depend on the network's precision or device.
    output, target = output.detach().cpu().double(), target.detach().cpu().double()
    official = None if evaluator is None else _official_score(evaluator, task, output, target)
    return _torchmetrics_score(task, output, target) if official is None else official


def _check_scorable(task: Task, target: Tensor) -> None:
    """Raises a ValueError if no target can be scored."""
    if task.metric in ("rocauc", "ap"):
        scorable = ((target == 0).any(dim=0) & (target == 1).any(dim=0)).any()
        wanted = "at least one target with both classes"
    else:
        scorable = (~torch.isnan(target)).any()
        wanted = "at least one label"
    if not scorable:
        raise ValueError(
            f"metric {task.metric!r} needs {wanted}, but the {len(target)} evaluated graphs have none; "
            "use a larger split or raise trainer.limit_val_batches / trainer.limit_test_batches"
        )


def _official_score(evaluator: str, task: Task, output: Tensor, target: Tensor) -> float | None:
    """OGB's official number, or None if the dataset's official metric is another one."""
    from graphpe.data.ogb_import import import_ogb

    official = import_ogb().Evaluator(evaluator)
    if _OGB_METRICS.get(official.eval_metric) != task.metric:
        return None
    if task.kind == "multiclass":
        output = output.argmax(dim=1, keepdim=True)
    elif task.metric == "accuracy":
        output = (output > 0).double()
    result = official.eval({"y_true": target.numpy(), "y_pred": output.numpy()})
    return float(result[official.eval_metric])


def _torchmetrics_score(task: Task, output: Tensor, target: Tensor) -> float:
    """The mean over targets of torchmetrics' number on the labels that are present."""
    if task.kind == "multiclass":
        output = output.argmax(dim=1, keepdim=True).double()
    elif task.metric == "accuracy":
        output = (output > 0).double()
    scores = []
    for prediction, label in zip(output.T, target.T, strict=True):
        present = ~torch.isnan(label)
        prediction, label = prediction[present], label[present]
        ranking = task.metric in ("rocauc", "ap")
        if len(label) == 0 or (ranking and len(label.unique()) < 2):
            continue
        scores.append(_SCORES[task.metric](prediction, label))
    return float(torch.stack(scores).mean())


def _ranks(prediction: Tensor) -> Tensor:
    """Ranks in [0, 1]: torchmetrics would squash logits by a sigmoid, which ties the large ones."""
    values, ranks = prediction.unique(return_inverse=True)
    return ranks / len(values)


def _accuracy(prediction: Tensor, label: Tensor) -> Tensor:
    return (prediction == label).double().mean()


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
    "accuracy": _accuracy,
}
