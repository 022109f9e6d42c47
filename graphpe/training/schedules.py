"""Learning-rate schedules: constant, linear or cosine to zero over all steps, each with a warm-up."""

from __future__ import annotations

import math
from typing import Literal

from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

StepSchedule = Literal["constant", "linear", "cosine"]
Schedule = Literal["constant", "linear", "cosine", "plateau"]


def schedule_factor(
    schedule: StepSchedule, step: int, *, warmup_steps: int, total_steps: float
) -> float:
    r"""Factor on the learning rate of one optimiser step.

    With :math:`w` warm-up steps and :math:`T` steps in all, step :math:`t = 0, 1, ...` gets
    :math:`(t + 1) / w` while :math:`t < w`, so that no step is wasted on a rate of zero, and then, with
    :math:`p = (t - w) / (T - w)`, the factor :math:`1` (constant), :math:`1 - p` (linear), or
    :math:`(1 + \cos \pi p) / 2` (cosine).

    Args:
        schedule: ``"constant"``, ``"linear"`` or ``"cosine"``.
        step: Number of optimiser steps already made.
        warmup_steps: Length of the linear warm-up.
        total_steps: Number of optimiser steps of the whole training, warm-up included.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if schedule == "constant":
        return 1.0
    progress = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
    return 1 - progress if schedule == "linear" else (1 + math.cos(math.pi * progress)) / 2


def step_schedule(
    optimizer: Optimizer, schedule: StepSchedule, *, warmup_steps: int, total_steps: float
) -> LambdaLR:
    """The schedule as a PyTorch scheduler that is stepped after each optimiser step.

    Warns if the training ends within the warm-up.

    Raises:
        ValueError: If a schedule that ends at zero has no end.
    """
    if schedule != "constant" and math.isinf(total_steps):
        raise ValueError(
            f"schedule {schedule!r} ends after the last step, but the training has no end; "
            "set trainer.max_epochs or trainer.max_steps"
        )
    if warmup_steps >= total_steps:
        rank_zero_warn(
            f"the training ends within the warm-up: model.warmup_steps is {warmup_steps}, and there are "
            f"{total_steps:g} steps in all; lower it or train for more epochs"
        )
    return LambdaLR(
        optimizer,
        lambda step: schedule_factor(
            schedule, step, warmup_steps=warmup_steps, total_steps=total_steps
        ),
    )


def set_rates(scheduler: LambdaLR) -> None:
    """Sets the learning rates of the next step by the schedule.

    A checkpoint brings the rates of the schedule under which it was made. If training resumes with more epochs, the
    schedule is a longer one, and the rate at the end of the old one, zero, would be that of the first step.

    Args:
        scheduler: Schedule of `step_schedule`.
    """
    rates = [
        rate * factor(scheduler.last_epoch)
        for rate, factor in zip(scheduler.base_lrs, scheduler.lr_lambdas, strict=True)
    ]
    for group, rate in zip(scheduler.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
