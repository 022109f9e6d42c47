"""Scores against scikit-learn and OGB's own evaluators."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics as sklearn_metrics
from torch import Tensor

from graphpe.tasks import Metric, Task, TaskKind
from graphpe.training.collector import Evaluation
from graphpe.training.metrics import scores, why_unscorable

NAN = math.nan


def score(task: Task, output: Tensor, target: Tensor, evaluator: str | None = None) -> float:
    """The first metric of graph-level rows."""
    places = torch.arange(len(output)).unsqueeze(1)
    return scores(task, Evaluation(places, output, target), evaluator)[task.metric]


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
    "r2": sklearn_metrics.r2_score,
    "accuracy": lambda y, z: sklearn_metrics.accuracy_score(y, z > 0),
    "balanced_accuracy": lambda y, z: sklearn_metrics.balanced_accuracy_score(y, z > 0),
    "f1": lambda y, z: sklearn_metrics.f1_score(y, z > 0),
}


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("regression", "rmse"),
        ("regression", "mae"),
        ("binary", "rocauc"),
        ("binary", "ap"),
        ("binary", "accuracy"),
        ("binary", "balanced_accuracy"),
        ("binary", "f1"),
        ("regression", "r2"),
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
    with pytest.raises(ValueError, match="needs at least one label, but the 0 evaluated rows"):
        score(Task(kind="regression", metric="mae"), torch.zeros(0, 1), torch.zeros(0, 1))


def test_diverged_outputs_are_a_clear_error() -> None:
    output = torch.tensor([[0.0], [NAN], [math.inf]])
    with pytest.raises(ValueError, match=r"not finite for 2 of 3 graphs.*lower `model.lr`"):
        score(Task(kind="regression", metric="mae"), output, torch.zeros(3, 1))


def test_all_metrics_of_a_task_are_reported_the_selecting_one_first() -> None:
    task = Task(kind="binary", metric="accuracy", more_metrics=("rocauc", "balanced_accuracy"))
    output, target = _random(1, binary=True)
    found = scores(task, Evaluation(torch.arange(60).unsqueeze(1), output, target))
    assert list(found) == ["accuracy", "rocauc", "balanced_accuracy"]


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_graphs_count_alike_whatever_their_size(metric: Metric) -> None:
    """Errors 1 and 3 in one graph, 2 in another with a missing label, none in a third."""
    task = Task(kind="regression", metric=metric, level="node", average="graphs")
    places = torch.tensor([[5, 0], [5, 1], [9, 0], [9, 1], [11, 0]])
    output = torch.tensor([[1.0], [-3.0], [2.0], [7.0], [8.0]])
    target = torch.tensor([[0.0], [0.0], [0.0], [NAN], [NAN]])
    found = scores(task, Evaluation(places, output, target))[metric]
    wanted = math.sqrt(((1 + 9) / 2 + 4) / 2) if metric == "rmse" else ((1 + 3) / 2 + 2) / 2
    assert found == pytest.approx(wanted)
    by_rows = scores(replace(task, average="rows"), Evaluation(places, output, target))[metric]
    assert by_rows == pytest.approx(math.sqrt(14 / 3) if metric == "rmse" else 2.0)


@pytest.mark.parametrize("metric", ["balanced_accuracy", "rocauc"])
def test_both_classes_are_needed(metric: Metric) -> None:
    with pytest.raises(ValueError, match=r"target with both classes|two different labels"):
        score(Task(kind="binary", metric=metric), torch.zeros(3, 1), torch.zeros(3, 1))


def test_r2_needs_labels_that_differ() -> None:
    task = Task(kind="regression", metric="r2")
    with pytest.raises(ValueError, match="two different labels"):
        score(task, torch.randn(3, 1), torch.tensor([[2.0], [2.0], [NAN]]))


@pytest.mark.parametrize("evaluator", [None, "ogbg-molhiv"])
def test_a_further_metric_that_cannot_be_scored_is_nan(evaluator: str | None) -> None:
    task = Task(kind="binary", metric="accuracy", more_metrics=("rocauc", "f1"))
    evaluation = Evaluation(torch.arange(3).unsqueeze(1), torch.ones(3, 1), torch.ones(3, 1))
    found = scores(task, evaluation, evaluator)
    assert found["accuracy"] == 1
    assert found["f1"] == 1
    assert math.isnan(found["rocauc"])
    assert "both classes" in why_unscorable("rocauc", evaluation.target)
    assert why_unscorable("accuracy", evaluation.target) is None


def test_f1_of_names_is_that_of_ogb() -> None:
    """Words 0 to 3 are the vocabulary; 7 and 8 are words outside of it; one name is said in another order."""
    from graphpe.data.ogb_import import import_ogb

    task = Task(kind="subtokens", metric="f1", num_targets=3, num_classes=6)
    said = torch.tensor([[0.0, 1, -1], [2, 2, -1], [-1, -1, -1], [1, 3, 0]])
    words = torch.tensor([[0.0, 1, 7, -1], [2, -1, -1, -1], [8, -1, -1, -1], [3, 1, 0, -1]])
    names = ["get", "set", "open", "close", "-", "-", "-", "value", "path"]
    as_words = [[[names[int(w)] for w in row if w >= 0] for row in rows] for rows in (words, said)]
    official = import_ogb().Evaluator("ogbg-code2")
    wanted = official.eval({"seq_ref": as_words[0], "seq_pred": as_words[1]})["F1"]
    assert score(task, said, words) == pytest.approx(wanted)
    assert score(task, said, words) == pytest.approx((0.8 + 1 + 0 + 1) / 4)


@pytest.mark.filterwarnings("ignore:y_pred contains classes")  # of class 3
def test_balanced_accuracy_of_classes_is_their_mean_recall() -> None:
    """GraphGPS#8: on unbalanced classes such as PATTERN's, plain accuracy is another number."""
    task = Task(kind="multiclass", metric="balanced_accuracy", num_classes=4)
    generator = torch.Generator().manual_seed(0)
    output = torch.randn(60, 4, generator=generator)
    target = torch.randint(3, (60, 1), generator=generator).double()  # class 3 has no label
    target[::2] = 0
    target[5] = NAN
    said, present = output.argmax(dim=1), ~target[:, 0].isnan()
    wanted = sklearn_metrics.balanced_accuracy_score(target[present, 0], said[present])
    assert score(task, output, target) == pytest.approx(wanted)
    always_first = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).expand(60, 4)
    assert score(task, always_first, target) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="needs two different labels"):
        score(task, output, torch.zeros(60, 1))
