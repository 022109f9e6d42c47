"""Learning rates of whole trainings against their closed forms."""

from __future__ import annotations

import math

import pytest
import torch

from graphpe.training.schedules import StepSchedule, step_schedule


def _rates(schedule: StepSchedule, warmup_steps: int, total_steps: int) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler = step_schedule(
        optimizer, schedule, warmup_steps=warmup_steps, total_steps=total_steps
    )
    rates = []
    for _ in range(total_steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return [*rates, optimizer.param_groups[0]["lr"]]


@pytest.mark.parametrize("warmup_steps", [0, 1, 7])
@pytest.mark.parametrize(
    ("schedule", "after_warmup"),
    [
        ("constant", lambda p: 1.0),
        ("linear", lambda p: 1 - p),
        ("cosine", lambda p: 0.5 * (1 + math.cos(math.pi * p))),
    ],
)
def test_rates_equal_the_closed_form(
    schedule: StepSchedule, after_warmup: object, warmup_steps: int
) -> None:
    rates = _rates(schedule, warmup_steps, 20)
    warmup = [0.5 * (step + 1) / warmup_steps for step in range(warmup_steps)]
    rest = 20 - warmup_steps
    wanted = warmup + [0.5 * after_warmup(step / rest) for step in range(rest + 1)]
    assert rates == pytest.approx(wanted)


def test_no_step_is_wasted_on_a_rate_of_zero() -> None:
    for schedule in ("linear", "cosine"):
        rates = _rates(schedule, 5, 20)
        assert min(rates[:-1]) > 0
        assert max(rates) == 0.5
        assert rates[-1] == pytest.approx(0.0)


def test_a_schedule_with_an_end_needs_one() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    with pytest.raises(ValueError, match=r"'cosine' ends after the last step.*trainer.max_epochs"):
        step_schedule(optimizer, "cosine", warmup_steps=0, total_steps=math.inf)
    step_schedule(optimizer, "constant", warmup_steps=3, total_steps=math.inf)


def test_a_training_that_ends_within_its_warmup_is_reported() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    with pytest.warns(UserWarning, match=r"warmup_steps is 20, and there are 20 steps"):
        step_schedule(optimizer, "linear", warmup_steps=20, total_steps=20)
