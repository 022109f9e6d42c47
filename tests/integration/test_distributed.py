"""Training and testing in two processes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
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


_SCRIPT = """
import json, os, sys
import torch
from lightning.pytorch import LightningModule, Trainer
from torch_geometric.data import Data
from graphpe.data import GraphDataModule, InMemorySource
from graphpe.training.numbering import graph_order
from graphpe.transforms import AddRandomWalkPE

class Mean(LightningModule):
    def __init__(self):
        super().__init__()
        self.mean = torch.nn.Parameter(torch.zeros(1))
        self.trained, self.validated, self.numbers = [], [], []

    def on_train_epoch_start(self):
        self.trained.append([])

    def training_step(self, batch):  # its gradient waits for the other process
        self.trained[-1].append(batch.y.int().tolist())
        return (self.mean - batch.y).abs().mean()

    def on_validation_epoch_start(self):
        self.validated.append([])
        self.numbers.append(graph_order(self.trainer.val_dataloaders).tolist())

    def validation_step(self, batch):
        self.validated[-1] += batch.y.int().tolist()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

def path_graph(number):
    n = 1 + number % 7
    edge_index = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    return Data(x=torch.ones(n, 1), edge_index=edge_index, y=torch.tensor([float(number)]))

def main():
    torch.multiprocessing.set_sharing_strategy("file_system")
    seen = []
    for count, batch_size, by_size, num_workers in json.loads(sys.argv[1]):
        graphs = [path_graph(number) for number in range(count)]
        source = InMemorySource(graphs, graphs[:5], graphs[:1])
        data = GraphDataModule(
            source, [AddRandomWalkPE(2)], batch_size, num_workers, bucket_by_size=by_size
        )
        trainer = Trainer(
            max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        model = Mean()
        try:
            trainer.fit(model, datamodule=data)
        except ValueError as error:
            seen.append(str(error))
        else:
            first = len(graphs)  # the validation part comes after it
            numbers = [[number - first for number in epoch] for epoch in model.numbers]
            seen.append([model.trained, model.validated, numbers])
    with open(f"{sys.argv[2]}.{trainer.global_rank}", "w") as file:
        json.dump(seen, file)

if __name__ == "__main__":
    main()
"""


def test_training_takes_every_graph_once_in_equally_many_steps(tmp_path: Path) -> None:
    """Numbers that don't divide: a process with a batch more would wait for the other for ever."""
    cases = [
        (13, 3, False, 0),  # a rest of one graph for two processes
        (13, 3, True, 1),
        (1, 4, False, 0),
    ]
    (tmp_path / "script.py").write_text(_SCRIPT)
    finished = subprocess.run(
        [sys.executable, "script.py", json.dumps(cases), str(tmp_path / "seen")],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    processes = [json.loads((tmp_path / f"seen.{rank}").read_text()) for rank in (0, 1)]
    for (count, batch_size, by_size, _), *parts in zip(cases, *processes, strict=True):
        if count == 1:
            assert all("1 graphs for 2 processes" in message for message in parts)
            continue
        orders = []
        for first, second in zip(*(trained for trained, _, _ in parts), strict=True):  # of an epoch
            assert len(first) == len(second)
            assert sorted(chain(*first, *second)) == list(range(count))
            assert max(map(len, first + second)) <= max(batch_size, 2)
            orders.append(first)
            if by_size:
                for one, other in zip(first, second, strict=True):
                    sizes = [1 + number % 7 for number in one + other]
                    assert max(sizes) - min(sizes) <= 2
        assert orders[0] != orders[1]
        for rank, (_, validated, numbers) in enumerate(parts):
            assert validated == numbers == [[[0, 2, 4], [1, 3, 0]][rank]] * 2


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))
