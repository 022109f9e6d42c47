"""Losses and targets, with missing labels, against scikit-learn and hand computation."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.metrics import log_loss
from torch.nn import functional
from torch_geometric.data import Batch, Data

from graphpe.tasks import Task
from graphpe.training.losses import read_targets, task_loss, task_prediction

NAN = math.nan
BINARY = Task(kind="binary", metric="rocauc", num_targets=3)
CLASSES = Task(kind="multiclass", metric="accuracy", num_classes=4)


def _batch(*targets: object) -> Batch:
    return Batch.from_data_list([Data(num_nodes=2, y=torch.tensor(y)) for y in targets])


def test_regression_losses_average_over_the_labels_that_are_present() -> None:
    output = torch.tensor([[1.0, 5.0], [2.0, 7.0]])
    target = torch.tensor([[0.0, NAN], [4.0, 8.0]])
    for loss, wanted in (("l1", (1 + 2 + 1) / 3), ("mse", (1 + 4 + 1) / 3)):
        task = Task(kind="regression", metric="mae", num_targets=2, loss=loss)
        assert task_loss(task, output, target).item() == pytest.approx(wanted)


def test_binary_loss_equals_the_log_loss_of_the_labels_that_are_present() -> None:
    output = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    target = (torch.rand(50, 3, generator=torch.Generator().manual_seed(1)) > 0.4).float()
    target[::3, 1] = NAN
    target[:, 2] = NAN
    present = ~torch.isnan(target)
    wanted = log_loss(target[present].numpy(), torch.sigmoid(output)[present].double().numpy())
    assert task_loss(BINARY, output, target).item() == pytest.approx(wanted, rel=1e-5)


def test_missing_labels_have_exactly_zero_gradient_even_for_huge_outputs() -> None:
    output = torch.tensor([[1e30, 2.0, -1.0]], requires_grad=True)
    loss = task_loss(BINARY, output, torch.tensor([[NAN, 1.0, NAN]]))
    loss.backward()
    assert torch.isfinite(loss)
    assert output.grad[0, 0] == 0
    assert output.grad[0, 2] == 0
    assert output.grad[0, 1] == pytest.approx(torch.sigmoid(torch.tensor(2.0)).item() - 1)


@pytest.mark.parametrize("task", [BINARY, CLASSES])
def test_a_batch_without_labels_has_loss_zero_and_zero_gradient(task: Task) -> None:
    output = torch.randn(2, task.out_channels, requires_grad=True)
    loss = task_loss(task, output, torch.full((2, task.num_targets), NAN))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(output.grad, torch.zeros_like(output))


def test_multiclass_loss_equals_cross_entropy_and_leaves_out_missing_classes() -> None:
    output = torch.randn(5, 4)
    target = torch.tensor([[0.0], [3.0], [NAN], [1.0], [2.0]])
    kept = [0, 1, 3, 4]
    wanted = log_loss([0, 3, 1, 2], output.double().softmax(1)[kept].numpy(), labels=[0, 1, 2, 3])
    assert task_loss(CLASSES, output, target).item() == pytest.approx(wanted, rel=1e-5)


WEIGHTED = Task(kind="multiclass", metric="balanced_accuracy", num_classes=4, class_weights="batch")


def test_labels_of_rare_classes_count_more_in_a_weighted_loss() -> None:
    output = torch.randn(7, 4, requires_grad=True)
    target = torch.tensor([0.0, 0.0, 0.0, 3.0, NAN, 1.0, 1.0]).unsqueeze(1)
    weights = torch.tensor([3 / 6, 4 / 6, 0.0, 5 / 6])  # of 6 labels: 3, 2, none and 1
    classes = torch.tensor([0, 0, 0, 3, -100, 1, 1])
    loss = task_loss(WEIGHTED, output, target)
    assert loss.item() == pytest.approx(
        functional.cross_entropy(output, classes, weights).item(), rel=1e-6
    )
    loss.backward()
    assert torch.equal(output.grad[4], torch.zeros(4))
    assert (output.grad[[0, 1, 2, 3, 5, 6]] != 0).all()


def test_a_weighted_loss_without_labels_is_zero_and_of_one_class_is_the_plain_one() -> None:
    """The weight of the only class would be 0, and the published loss 0 / 0."""
    output = torch.randn(3, 4, requires_grad=True)
    assert task_loss(WEIGHTED, output, torch.full((3, 1), NAN)).item() == 0
    one_class = torch.tensor([[2.0], [NAN], [2.0]])
    loss = task_loss(WEIGHTED, output, one_class)
    assert loss.item() == pytest.approx(task_loss(CLASSES, output, one_class).item(), rel=1e-6)
    loss.backward()
    assert output.grad.isfinite().all()


def test_the_loss_of_a_half_precision_network_is_float32() -> None:
    output = torch.zeros(1, 3, dtype=torch.bfloat16)
    assert task_loss(BINARY, output, torch.tensor([[1.0, 0.0, NAN]])).dtype == torch.float32


@pytest.mark.parametrize(
    ("targets", "wanted"),
    [
        (([[1.0, 0.0, NAN]], [[0.0, 1.0, 1.0]]), [[1.0, 0.0, NAN], [0.0, 1.0, 1.0]]),
        (([1, 0, 1], [0, 0, 1]), [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]),
    ],
)
def test_targets_are_read_from_rows_and_from_flat_tensors(targets: tuple, wanted: list) -> None:
    read = read_targets(BINARY, _batch(*targets))
    assert torch.equal(read.nan_to_num(-1), torch.tensor(wanted).nan_to_num(-1))


def test_class_numbers_are_read_from_integers() -> None:
    assert read_targets(CLASSES, _batch([3], [0])).tolist() == [[3.0], [0.0]]


@pytest.mark.parametrize(
    ("task", "batch", "message"),
    [
        (BINARY, Batch.from_data_list([Data(num_nodes=1)]), "carry no tensor `y`"),
        (BINARY, _batch([[0.0, 1.0]]), r"shape \[1, 2\] for 1 graphs.*num_targets is 3"),
        (BINARY, _batch([[0.0, 2.0, 1.0]]), "`y` contains 2.*binary task are 0, 1 or NaN"),
        (CLASSES, _batch([4]), "`y` contains 4.*whole numbers from 0 to 3"),
        (CLASSES, _batch([0.5]), "`y` contains 0.5"),
        (Task(kind="regression", metric="mae"), _batch([math.inf]), "`y` contains inf"),
        (Task(kind="regression", metric="mae"), _batch([1j]), "`y` has dtype torch.complex64"),
    ],
)
def test_bad_targets_are_refused_in_one_line(task: Task, batch: Batch, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_targets(task, batch)
    assert "\n" not in str(error.value)


def test_a_network_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"returned shape \[2, 1\].*needs \[2, 3\].*out_channels"):
        task_loss(BINARY, torch.zeros(2, 1), torch.zeros(2, 3))


def test_predictions_are_values_or_probabilities() -> None:
    output = torch.tensor([[0.0, 100.0, -100.0]])
    assert task_prediction(BINARY, output)[0].tolist() == pytest.approx([0.5, 1.0, 0.0])
    regression = Task(kind="regression", metric="mae", num_targets=3)
    assert torch.equal(task_prediction(regression, output), output)
    classes = task_prediction(CLASSES, torch.randn(3, 4))
    assert classes.sum(dim=1).tolist() == pytest.approx([1.0] * 3)
