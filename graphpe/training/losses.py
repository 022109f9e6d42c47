"""Targets, losses and predictions of a task; a NaN target means that the label is missing."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.tasks import Task
from graphpe.training.rows import number_of_graphs, number_of_rows
from graphpe.training.subtokens import require_padding_last, say_words, word_classes

_MISSING_CLASS = -100  # the class that `cross_entropy` leaves out by default


def read_targets(task: Task, batch: Data) -> Tensor:
    """The targets of a batch, one row per graph, node, edge or pair of nodes.

    Args:
        task: What is predicted.
        batch: Graphs with targets in ``y``: for each node, edge or pair a row of ``num_targets`` numbers, or one number
            if that is one; for each graph ``num_targets`` numbers in any shape; for ``"subtokens"`` the word numbers of
            a name, -1 after its end.

    Returns:
        Float targets ``[R, num_targets]`` with NaN where a label is missing; class and word numbers are floats as well.

    Raises:
        ValueError: If ``y`` is missing, complex or of another shape, or holds values that the task can't have.
    """
    target = batch.y if "y" in batch else None
    if not isinstance(target, Tensor):
        raise ValueError(
            f"the graphs carry no tensor `y`, but the task needs {task.num_targets} target(s) per {task.level}; "
            f"set `data.y` to a float tensor [{_ROWS[task.level]}, num_targets]"
        )
    if target.is_complex():
        raise ValueError(
            f"`y` has dtype {target.dtype}, but targets are real numbers; use the real and the imaginary part as two "
            "targets: `data.y = torch.view_as_real(data.y).flatten(1)`"
        )
    rows = number_of_rows(task, batch)
    if not _fits(task, target, rows):
        _check_number_of_rows(task, batch, target, rows)
        raise ValueError(
            f"`y` has shape {list(target.shape)} for {number_of_graphs(batch)} graphs with {rows} {task.level}s, but "
            f"task.num_targets is {task.num_targets}; `y` of one graph must be a tensor "
            f"[{_ROWS[task.level]}, {'words' if task.kind == 'subtokens' else task.num_targets}]"
        )
    if task.kind != "subtokens":
        target = target.reshape(rows, task.num_targets)
    if not target.is_floating_point():
        target = target.to(torch.float32)
    if target.device.type == "cpu":  # elsewhere the check would make every step wait for the device
        _check_range(task, target)
    return target


# Rows of `y` of a graph of n nodes.
_ROWS = {"graph": "1", "node": "n", "edge": "edges", "pair": "n * n"}


def _fits(task: Task, target: Tensor, rows: int) -> bool:
    """Whether targets have the shape of the task."""
    if task.kind == "subtokens":
        return target.dim() == 2 and len(target) == rows
    if task.level == "graph":
        return target.numel() == rows * task.num_targets
    # Equal numbers are not enough: matrices [n, n] of graphs of one size are no rows of pairs.
    is_flat = task.num_targets == 1 and target.shape == (rows,)
    return is_flat or target.shape == (rows, task.num_targets)


def _check_number_of_rows(task: Task, batch: Data, target: Tensor, rows: int) -> None:
    """Raises a ValueError if there are more or fewer rows of ``y`` than nodes, edges or pairs."""
    if task.level == "graph" or target.dim() == 0 or len(target) == rows:
        return
    graphs = number_of_graphs(batch)
    where = "the graph has" if graphs == 1 else f"the {graphs} graphs have"
    columns = ", a row per column of edge_index" if task.level == "edge" else ""
    raise ValueError(
        f"`y` has {len(target)} rows, but {where} {rows} {task.level}s; `y` of one graph must be a tensor "
        f"[{_ROWS[task.level]}, {task.num_targets}]{columns}"
    )


def _check_range(task: Task, target: Tensor) -> None:
    """Raises a ValueError if a target is a number that the task can't have."""
    if task.kind == "regression":
        wrong, wanted = torch.isinf(target), "finite numbers or NaN (missing)"
    elif task.kind == "binary":
        wrong = (target != 0) & (target != 1) & ~torch.isnan(target)
        wanted = "0, 1 or NaN (missing)"
    elif task.kind == "subtokens":
        wrong = (target != target.floor()) | (target < -1) | torch.isnan(target)
        wanted = "word numbers, and -1 after the end"
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
    if task.kind == "subtokens":
        require_padding_last(target)


def check_output(task: Task, output: Tensor, rows: int) -> None:
    """Refuses outputs of another shape than the task's.

    Args:
        task: What is predicted.
        output: What the network returned.
        rows: How many graphs, nodes, edges or pairs there are.

    Raises:
        ValueError: If the outputs are not ``[rows, task.out_channels]``.
    """
    if output.shape != (rows, task.out_channels):
        raise ValueError(
            f"the network returned shape {list(output.shape)} for {rows} {task.level}s, but the task needs "
            f"[{rows}, {task.out_channels}]; set the network's out_channels to {task.out_channels} and its "
            f"level to {task.level!r}"
        )


def task_loss(task: Task, output: Tensor, target: Tensor, graph: Tensor | None = None) -> Tensor:
    r"""Mean loss over the labels that are present.

    Regression: :math:`|z - y|` or :math:`(z - y)^2`. Binary: the logistic loss
    :math:`\log(1 + e^z) - y z`. Multiclass: cross-entropy :math:`-\log \mathrm{softmax}(z)_y`; subtokens: the same at
    each position. A batch without any label has loss 0 and zero gradients.

    With ``task.class_weights="batch"`` a label of class c has the weight :math:`(V - V_c) / V`, of V labels in the
    batch of which V_c are of class c, and the loss is the weighted mean; where all are of one class, they count alike.

    Args:
        task: What is predicted.
        output: Network outputs ``[R, task.out_channels]``; logits for classification.
        target: Targets ``[R, num_targets]`` from :func:`read_targets`.
        graph: ``[R]`` the graph of each row; needed for ``task.average="graphs"``, which is the mean over graphs with
            labels of the mean in each.

    Raises:
        ValueError: If the network has another number of outputs than the task.
    """
    check_output(task, output, len(target))
    output = output.float()  # losses of a half-precision network are still summed in float32
    present = ~torch.isnan(target)
    losses = _losses(task, output, target, present)
    if task.kind == "subtokens":  # each position has a class
        return losses.sum() / max(losses.numel(), 1)
    losses = torch.where(present, losses, 0.0)
    if task.class_weights == "batch":
        weights = _batch_weights(task, target, present)
        return (losses * weights).sum() / weights.sum().clamp(min=1)
    if task.average == "rows":
        return losses.sum() / present.sum().clamp(min=1)
    return mean_over_graphs(losses, present, graph)


def _losses(task: Task, output: Tensor, target: Tensor, present: Tensor) -> Tensor:
    """The loss of each label; anything where it is missing."""
    if task.kind == "subtokens":
        # A row per position: over the last dimension, softmax is three times as fast as over another one.
        logits, classes = output.reshape(-1, task.num_classes), word_classes(task, target)
        losses = functional.cross_entropy(logits, classes.flatten(), reduction="none")
        return losses.view_as(classes)
    if task.kind == "multiclass":
        classes = torch.where(present, target, _MISSING_CLASS).long().squeeze(1)
        return functional.cross_entropy(
            output, classes, reduction="none", ignore_index=_MISSING_CLASS
        ).unsqueeze(1)
    filled = torch.where(present, target, 0.0).to(output.dtype)
    if task.kind == "binary":
        return functional.binary_cross_entropy_with_logits(output, filled, reduction="none")
    loss = functional.l1_loss if task.loss == "l1" else functional.mse_loss
    return loss(output, filled, reduction="none")


def _batch_weights(task: Task, target: Tensor, present: Tensor) -> Tensor:
    """How many labels of the batch are of another class than each label, and 0 where it is missing."""
    classes = torch.where(present, target, 0.0).long().squeeze(1)
    labels = present.squeeze(1).float()
    sizes = labels.new_zeros(task.num_classes).index_add(0, classes, labels)
    others = torch.where(present, (labels.sum() - sizes[classes]).unsqueeze(1), 0.0)
    return torch.where(others.any(), others, present.float())


def mean_over_graphs(values: Tensor, present: Tensor, graph: Tensor) -> Tensor:
    """The mean over graphs of the mean in each; graphs without anything present are left out.

    Args:
        values: ``[R, T]``, 0 where nothing is present.
        present: bool ``[R, T]``.
        graph: ``[R]`` the graph of each row, numbered from 0.
    """
    count = scatter(present.sum(1).to(values.dtype), graph)
    means = scatter(values.sum(1), graph) / count.clamp(min=1)
    return means.sum() / (count > 0).sum().clamp(min=1)


def what_counts(task: Task, output: Tensor) -> Tensor:
    """What metrics and predictions need of a network's outputs: all, but for ``"subtokens"`` only the words."""
    if task.kind == "subtokens":
        return say_words(task, output).to(torch.float32)
    return output


def task_prediction(task: Task, output: Tensor) -> Tensor:
    """What a user reads as the prediction: the value itself, or probabilities for classification.

    Args:
        task: What is predicted.
        output: What :func:`what_counts` gives.

    Returns:
        ``[R, task.out_channels]``: values, probabilities of "yes", or probabilities of the classes; for
        ``"subtokens"`` ``[B, num_targets]`` word numbers, -1 for none.
    """
    if task.kind == "binary":
        return torch.sigmoid(output)
    if task.kind == "multiclass":
        return torch.softmax(output, dim=1)
    return output
