"""A small suite, and runs that are made up instead of trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark_resolve import resolve

from graphpe.benchmark import Run, plan_runs, read_suite
from graphpe.benchmark.run_folder import RunFolder

CARD = {
    "card": {
        "title": "t",
        "split": "random",
        "baselines": [{"model": "GIN", "mean": 1.173, "std": 0.057, "reference": "a paper"}],
    },
    "task": {"kind": "regression", "metric": "rmse", "num_targets": 1, "loss": "mse"},
    "data": {
        "dataset": {
            "class_path": "graphpe.data.OGBSource",
            "init_args": {"name": "ogbg-molesol", "root": "data/ogb"},
        }
    },
}


@pytest.fixture
def suite_content(tmp_path: Path) -> dict[str, Any]:
    """What the file of a suite holds: one dataset, two encodings, one network, three seeds."""
    card = tmp_path / "esol.yaml"
    card.write_text(yaml.safe_dump(CARD))
    return {
        "name": "small",
        "datasets": [str(card)],
        "encodings": {
            "none": {},
            "RWSE": {
                "transforms": [{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 4}}],
                "encoders": [{"class_path": "NodeEncoder", "init_args": {"in_channels": 4}}],
            },
        },
        "networks": {"GINE": {"class_path": "GINE", "init_args": {"hidden_channels": 8}}},
        "seeds": [0, 1, 2],
    }


@pytest.fixture
def write_suite(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes the file of a suite."""

    def write(content: dict[str, Any]) -> Path:
        path = tmp_path / "suite.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        return path

    return write


@pytest.fixture
def runs(suite_content: dict[str, Any], write_suite: Callable) -> list[Run]:
    """The runs of the suite."""
    return plan_runs(read_suite(write_suite(suite_content)), resolve)


@pytest.fixture
def finish(tmp_path: Path) -> Callable[..., Path]:
    """Makes up a finished run, and returns the folder of its attempt."""

    def make(run: Run, test: float | None, valid: float = 1.0, **summary: Any) -> Path:
        folder = RunFolder(tmp_path / "runs", run, resolve)
        folder.begin({"date": "2026-01-01", "machine": {"cores": 2, "processor": "x86_64"}})
        version = folder.path / "version_0"
        version.mkdir()
        facts = {
            "name": run.name,
            "metric": "rmse",
            "test": test,
            "valid": valid,
            "best_epoch": 3,
            "num_parameters": 1234,
            "encoding_seconds": 0.5,
            "training_seconds": 8.0,
            "folder": str(version),
            "checkpoint": f"{version}/checkpoints/best.ckpt",
            "more": {},
        }
        (version / "summary.json").write_text(json.dumps(facts | summary))
        (version / "config.yaml").write_text(yaml.safe_dump(folder.config()))
        rows = "epoch,train/loss,valid/rmse\n0,1.0,\n0,,2.0\n3,0.5,\n3,,1.0\n4,,\n"
        (version / "metrics.csv").write_text(rows)
        return version

    return make
