"""Scores against scikit-learn and OGB's own evaluators."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn import metrics as sklearn_metrics
from torch import Tensor

from graphpe.tasks import Metric, Task, TaskKind
from graphpe.training.metrics import score

NAN = math.nan


def _random(num_targets: int, *, binary: bool, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    output = torch.randn(60, num_targets, generator=generator)
    target = torch.randn(60, num_targets, generator=generator)
    if binary:
        target = (target + output > 0.5).float()
    target[torch.rand(60, num_targets, generator=generator) < 0.2] = NAN
    return output, target


_ORACLES = {
    "rmse": lambda y, z: math.sqrt(sklearn_metrics.mean_squared_error(y, z)),
    "mae": sklearn_metrics.mean_absolute_error,
    "rocauc": sklearn_metrics.roc_auc_score,
    "ap": sklearn_metrics.average_precision_score,
    "accuracy": lambda y, z: sklearn_metrics.accuracy_score(y, z > 0),
}


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("regression", "rmse"),
        ("regression", "mae"),
        ("binary", "rocauc"),
        ("binary", "ap"),
        ("binary", "accuracy"),
    ],
)
def test_scores_equal_scikit_learn_averaged_over_targets(kind: TaskKind, metric: Metric) -> None:
    task = Task(kind=kind, metric=metric, num_targets=4)
    output, target = _random(4, binary=kind == "binary")
    wanted = []
    for z, y in zip(output.T.double().numpy(), target.T.numpy(), strict=True):
        present = ~np.isnan(y)
        wanted.append(_ORACLES[metric](y[present], z[present]))
    assert score(task, output, target) == pytest.approx(np.mean(wanted), abs=1e-6)


@pytest.mark.parametrize(
    ("evaluator", "task"),
    [
        ("ogbg-molesol", Task(kind="regression", metric="rmse")),
        ("ogbg-moltox21", Task(kind="binary", metric="rocauc", num_targets=12)),
        ("ogbg-molpcba", Task(kind="binary", metric="ap", num_targets=128)),
        ("ogbg-ppa", Task(kind="multiclass", metric="accuracy", num_classes=37)),
    ],
)
def test_ogb_and_torchmetrics_agree_on_ogb_datasets(evaluator: str, task: Task) -> None:
    if task.kind == "multiclass":
        output = torch.randn(200, 37)
        target = torch.randint(0, 37, (200, 1)).float()
        target[:100, 0] = output[:100].argmax(dim=1)
    else:
        output, target = _random(task.num_targets, binary=task.kind == "binary")
    official = score(task, output, target, evaluator)
    assert official == pytest.approx(score(task, output, target), abs=1e-6)


def test_the_official_evaluator_is_the_one_that_is_called() -> None:
    """A wrong number of targets is what only OGB's evaluator of this dataset refuses."""
    task = Task(kind="regression", metric="rmse", num_targets=2)
    with pytest.raises(RuntimeError, match="Number of tasks for ogbg-molesol should be 1 but 2"):
        score(task, torch.zeros(3, 2), torch.ones(3, 2), "ogbg-molesol")


def test_an_unofficial_metric_on_an_ogb_dataset_is_torchmetrics_number() -> None:
    task = Task(kind="regression", metric="mae")
    assert score(
        task, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [5.0]]), "ogbg-molesol"
    ) == pytest.approx(2.0)


@pytest.mark.parametrize("metric", ["rocauc", "ap"])
@pytest.mark.parametrize("evaluator", [None, "official"])
def test_ranking_skips_targets_without_both_classes(metric: Metric, evaluator: str | None) -> None:
    name = {"rocauc": "ogbg-moltox21", "ap": "ogbg-molpcba"}[metric]
    width = {"rocauc": 12, "ap": 128}[metric]
    task = Task(kind="binary", metric=metric, num_targets=width)
    output = torch.randn(20, width)
    target = torch.ones(20, width)  # no negative anywhere ...
    target[:, 1] = NAN
    target[::2, 0] = 0.0  # ... but in the first target
    wanted = _ORACLES[metric](target[:, 0].numpy(), output[:, 0].numpy())
    found = score(task, output, target, name if evaluator else None)
    assert found == pytest.approx(wanted, abs=1e-6)


def test_large_logits_are_not_tied() -> None:
    """float32 sigmoids of 50, 60 and 70 are all 1, which would make the AUC 0.5."""
    task = Task(kind="binary", metric="rocauc")
    output = torch.tensor([[50.0], [60.0], [70.0], [80.0]])
    target = torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    assert score(task, output, target) == 1.0
    assert score(task, output, target, "ogbg-molhiv") == 1.0


@pytest.mark.parametrize("evaluator", [None, "ogbg-molhiv"])
def test_no_target_with_both_classes_is_a_clear_error(evaluator: str | None) -> None:
    task = Task(kind="binary", metric="rocauc")
    with pytest.raises(ValueError, match="needs at least one target with both classes") as error:
        score(task, torch.randn(5, 1), torch.ones(5, 1), evaluator)
    assert "\n" not in str(error.value)


def test_no_label_at_all_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="needs at least one label, but the 0 evaluated graphs"):
        score(Task(kind="regression", metric="mae"), torch.zeros(0, 1), torch.zeros(0, 1))


def test_diverged_outputs_are_a_clear_error() -> None:
    output = torch.tensor([[0.0], [NAN], [math.inf]])
    with pytest.raises(ValueError, match=r"not finite for 2 of 3 graphs.*lower `model.lr`"):
        score(Task(kind="regression", metric="mae"), output, torch.zeros(3, 1))
