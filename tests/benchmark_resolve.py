"""A stand-in for the parser of `graphpe fit`, for tests of suites."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def resolve(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with some defaults filled in."""
    config = copy.deepcopy(dict(config))
    config["experiment"] = {"name": "experiment", "folder": "runs", "baselines": []} | config.get(
        "experiment", {}
    )
    config["model"] = {"lr": 0.001} | config.get("model", {})
    config["trainer"] = {"max_epochs": 100} | config.get("trainer", {})
    config.setdefault("seed_everything", 0)
    return config
