"""Targets, losses and predictions of a task; a NaN target means that the label is missing."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Batch

from graphpe.tasks import Task

_MISSING_CLASS = -100  # the class that `cross_entropy` leaves out by default


def read_targets(task: Task, batch: Batch) -> Tensor:
    """The targets of a batch, one row per graph.

    Args:
        task: What is predicted.
        batch: Graphs with targets in ``y``: ``num_graphs * num_targets`` numbers in any shape.

    Returns:
        Float targets ``[B, num_targets]`` with NaN where a label is missing; class numbers are floats as well.

    Raises:
        ValueError: If ``y`` is missing, has another size, or holds values that the task can't have.
    """
    target = batch.y if "y" in batch else None
    if not isinstance(target, Tensor):
        raise ValueError(
            f"the graphs carry no tensor `y`, but the task needs {task.num_targets} target(s) per graph; "
            "set `data.y` to a float tensor [1, num_targets]"
        )
    if target.numel() != batch.num_graphs * task.num_targets:
        raise ValueError(
            f"`y` has shape {list(target.shape)} for {batch.num_graphs} graphs, but task.num_targets is "
            f"{task.num_targets}; `y` of one graph must be a tensor [1, {task.num_targets}]"
        )
    target = target.reshape(batch.num_graphs, task.num_targets)
    if not target.is_floating_point():
        target = target.to(torch.float32)
    if target.device.type == "cpu":  # elsewhere the check would make every step wait for the device
        _check_range(task, target)
    return target


def _check_range(task: Task, target: Tensor) -> None:
    """Raises a ValueError if a target is a number that the task can't have."""
    if task.kind == "regression":
        wrong, wanted = torch.isinf(target), "finite numbers or NaN (missing)"
    elif task.kind == "binary":
        wrong = (target != 0) & (target != 1) & ~torch.isnan(target)
        wanted = "0, 1 or NaN (missing)"
    else:
        whole = (target == target.floor()) & (target >= 0) & (target < task.num_classes)
        wrong = ~whole & ~torch.isnan(target)
        wanted = (
            f"whole numbers from 0 to {task.num_classes - 1} (task.num_classes) or NaN (missing)"
        )
    if wrong.any():
        raise ValueError(
            f"`y` contains {target[wrong][0].item():g}, but targets of a {task.kind} task are {wanted}"
        )


def task_loss(task: Task, output: Tensor, target: Tensor) -> Tensor:
    r"""Mean loss over the labels that are present.

    Regression: :math:`|z - y|` or :math:`(z - y)^2`. Binary: the logistic loss
    :math:`\log(1 + e^z) - y z`. Multiclass: cross-entropy :math:`-\log \mathrm{softmax}(z)_y`.
    A batch without any label has loss 0 and zero gradients.

    Args:
        task: What is predicted.
        output: Network outputs ``[B, task.out_channels]``; logits for classification.
        target: Targets ``[B, num_targets]`` from :func:`read_targets`.

    Raises:
        ValueError: If the network has another number of outputs than the task.
    """
    if output.shape != (target.shape[0], task.out_channels):
        raise ValueError(
            f"the network returned shape {list(output.shape)} for {target.shape[0]} graphs, but the task needs "
            f"[{target.shape[0]}, {task.out_channels}]; set the network's out_channels to {task.out_channels}"
        )
    output = output.float()  # losses of a half-precision network are still summed in float32
    present = ~torch.isnan(target)
    if task.kind == "multiclass":
        classes = torch.where(present, target, _MISSING_CLASS).long().squeeze(1)
        losses = functional.cross_entropy(
            output, classes, reduction="none", ignore_index=_MISSING_CLASS
        ).unsqueeze(1)
    else:
        filled = torch.where(present, target, 0.0).to(output.dtype)
        if task.kind == "binary":
            losses = functional.binary_cross_entropy_with_logits(output, filled, reduction="none")
        elif task.loss == "l1":
            losses = functional.l1_loss(output, filled, reduction="none")
        else:
            losses = functional.mse_loss(output, filled, reduction="none")
    return torch.where(present, losses, 0.0).sum() / present.sum().clamp(min=1)


def task_prediction(task: Task, output: Tensor) -> Tensor:
    """What a user reads as the prediction: the value itself, or probabilities for classification.

    Args:
        task: What is predicted.
        output: Network outputs ``[B, task.out_channels]``.

    Returns:
        ``[B, task.out_channels]``: values, probabilities of "yes", or probabilities of the classes.
    """
    if task.kind == "binary":
        return torch.sigmoid(output)
    if task.kind == "multiclass":
        return torch.softmax(output, dim=1)
    return output
