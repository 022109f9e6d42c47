"""Tasks: what can't be is refused when they are made."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphpe.tasks import Task


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"class_weights": "inverse"},
            "task.class_weights is 'inverse'; it must be 'equal' or 'batch'",
        ),
        ({"class_weights": "batch"}, "'batch' is for kind 'multiclass' .* kind is 'regression'"),
        (
            {
                "kind": "multiclass",
                "metric": "accuracy",
                "class_weights": "batch",
                "average": "graphs",
            },
            "with average 'rows', but .* average 'graphs'",
        ),
        ({"kind": "rank"}, "task.kind is 'rank'; it must be 'binary', 'multiclass', "),
        ({"kind": ["regression"]}, r"task.kind is \['regression'\]; it must be"),
        ({"loss": "l2"}, "task.loss is 'l2'; it must be 'l1' or 'mse'"),
        ({"num_targets": 0}, "task.num_targets is 0; it must be an integer >= 1"),
        ({"num_targets": True}, "task.num_targets is True; it must be an integer >= 1"),
        ({"num_targets": 2.0}, "task.num_targets is 2.0; it must be an integer >= 1"),
        ({"num_classes": 3.0}, "task.num_classes is 3.0; it must be an integer >= 1"),
        ({"unknown_penalty": math.nan}, "task.unknown_penalty is nan; it must be a finite number"),
        ({"end_penalty": -math.inf}, "task.end_penalty is -inf; it must be a finite number"),
        ({"end_penalty": "0.1"}, "task.end_penalty is '0.1'; it must be a finite number"),
        ({"metric": "ap"}, "task.metric 'ap' does not fit task.kind 'regression'; choose one of"),
        ({"more_metrics": ["ap"]}, "task.more_metrics 'ap' does not fit"),
        ({"more_metrics": [["mae"]]}, r"task.more_metrics \['mae'\] does not fit"),
        ({"more_metrics": "mae"}, "task.more_metrics is 'mae'; it must be a list of metrics"),
        ({"more_metrics": None}, "task.more_metrics is None; it must be a list of metrics"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Task(**{"kind": "regression", "metric": "mae", **settings})
    assert "\n" not in str(error.value)


def test_several_classes_are_at_least_two() -> None:
    with pytest.raises(ValueError, match=r"task\.num_classes is 1; a multiclass task needs"):
        Task(kind="multiclass", metric="accuracy", num_classes=1)
    with pytest.raises(ValueError, match=r"task\.num_targets is 2; set num_classes instead"):
        Task(kind="multiclass", metric="accuracy", num_targets=2)


def test_what_can_be_is_accepted() -> None:
    task = Task(
        kind="subtokens",
        metric="f1",
        num_targets=np.int64(5),
        num_classes=6,
        unknown_penalty=np.float32(0.5),
        end_penalty=-1,
        more_metrics=["f1"],
    )
    assert task.out_channels == 30
    assert task.metrics == ("f1",)
