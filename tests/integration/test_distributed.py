"""Training and testing in two processes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphpe.cli import main


def test_two_processes_count_every_graph_once(
    experiment: dict,
    write_config: Callable[..., str],
    graphpe_process: Callable,
    tmp_path: Path,
) -> None:
    """113 test graphs: the sampler repeats one of them, so that both processes have 57."""
    experiment["trainer"] |= {"devices": 2, "strategy": "ddp", "limit_train_batches": 2}
    finished = graphpe_process("fit", "--config", write_config(experiment))
    assert finished.returncode == 0, finished.stderr
    assert "Warning" not in finished.stderr

    runs = tmp_path / "runs" / "small"
    assert [run.name for run in runs.iterdir()] == ["version_0"]
    summary = json.loads((runs / "version_0" / "summary.json").read_text())
    saved = str(runs / "version_0" / "config.yaml")
    checkpoint = str(runs / "version_0" / "checkpoints" / "best.ckpt")
    single = ["--trainer.devices", "1", "--trainer.strategy", "auto", "--ckpt_path", checkpoint]
    assert main(["test", "--config", saved, *single]) == 0

    together, alone = (
        _rows(runs / folder / "predictions.csv") for folder in ("version_0", "test_0")
    )
    assert len(together) == 113
    assert [row["graph"] for row in together] == [row["graph"] for row in alone]
    squares = []
    for one, other in zip(together, alone, strict=True):
        assert float(one["prediction_0"]) == pytest.approx(float(other["prediction_0"]), abs=1e-5)
        squares.append((float(other["prediction_0"]) - float(other["target_0"])) ** 2)
    wanted = (sum(squares) / 113) ** 0.5
    assert summary["test"] == pytest.approx(wanted, rel=1e-5)


def test_an_error_of_all_processes_is_said_once(
    experiment: dict, write_config: Callable[..., str], graphpe_process: Callable
) -> None:
    experiment["trainer"] |= {"devices": 2, "strategy": "ddp"}
    experiment["data"]["encodings"][0]["init_args"]["attr_name"] = "walks"
    finished = graphpe_process("fit", "--config", write_config(experiment))
    assert finished.returncode == 1
    assert finished.stderr.count("NodeEncoder needs the field") == 1, finished.stderr


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))
