"""Training with a cache: from the command line, and in two processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from graphpe.cli import main


def shards(folder: Path) -> dict[str, int]:
    """When each shard of a cache was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}


def test_fit_with_a_cache_ends_where_it_ends_without(
    experiment: dict, write_config: Callable[..., str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    config = ["--config", write_config(experiment)]
    assert main(["fit", *config]) == 0
    found = []
    for _ in range(2):
        assert main(["fit", *config, "--data.cache_dir", str(cache)]) == 0
        found.append(shards(cache))
    assert found[0] == found[1] != {}
    runs = [tmp_path / "runs" / "small" / f"version_{number}" for number in range(3)]
    for run in runs[1:]:
        assert (run / "predictions.csv").read_text() == (runs[0] / "predictions.csv").read_text()
        metrics = [json.loads((each / "summary.json").read_text()) for each in (run, runs[0])]
        assert metrics[0]["test"] == metrics[1]["test"]
        assert metrics[0]["encoding_seconds"] > 0
        saved = yaml.safe_load((run / "config.yaml").read_text())
        assert saved["data"]["cache_dir"] == str(cache)
    saved = yaml.safe_load((runs[0] / "config.yaml").read_text())
    assert saved["data"]["cache_dir"] is None


_SCRIPT = """
import importlib, json, sys
import torch
from lightning.pytorch import Trainer, seed_everything
from torch_geometric.data import InMemoryDataset
from training_graphs import REGRESSION, cycles, network
from graphpe.data import GraphDataModule, GraphSource, SplitGraphs
from graphpe.nn import NodeEncoder
from graphpe.precompute import EncodedDataset
from graphpe.precompute.cache import plan
from graphpe.training import GraphPredictor
from graphpe.transforms import AddRandomWalkPE

plan._GRAPHS = 5
computing = importlib.import_module("graphpe.precompute.computing")
compute_fields, computed = computing.compute_fields, []

def counting(graphs, encodings, **options):
    computed.append(len(graphs))
    return compute_fields(graphs, encodings, **options)

computing.compute_fields = counting

class Stored(InMemoryDataset):
    def __init__(self):
        super().__init__()
        self._data, self.slices = self.collate(cycles(24))

class Cycles(GraphSource):
    def load(self):
        parts = dict(zip(("train", "valid", "test"), torch.arange(24).split([14, 5, 5])))
        return SplitGraphs(Stored(), parts)

def run(cache_dir):
    computed.clear()
    seed_everything(0)
    data = GraphDataModule(Cycles(), [AddRandomWalkPE(4)], batch_size=3, cache_dir=cache_dir)
    model = GraphPredictor(network(encoders=[NodeEncoder(4, 8)]), REGRESSION)
    trainer = Trainer(
        max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(model, data)
    weights = [value.flatten().tolist() for value in model.state_dict().values()]
    reads = isinstance(data.parts["train"], EncodedDataset)
    return trainer.global_rank, sum(computed), reads, data.encoding_seconds, weights

if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_system")
    seen = [run(folder) for folder in (None, sys.argv[1], sys.argv[1])]
    with open(f"{sys.argv[1]}.{seen[0][0]}", "w") as file:
        json.dump([each[1:] for each in seen], file)
"""


def test_of_two_processes_one_computes_and_both_read(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "script.py").write_text(_SCRIPT)
    paths = [str(repository / "tests"), str(repository)]
    finished = subprocess.run(
        [sys.executable, "script.py", str(tmp_path / "cache")],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    first, second = (json.loads((tmp_path / f"cache.{rank}").read_text()) for rank in (0, 1))
    without, empty, full = zip(first, second, strict=True)
    assert [(computed, reads) for computed, reads, *_ in without] == [(24, False), (24, False)]
    assert [(computed, reads) for computed, reads, *_ in empty] == [(24, True), (0, True)]
    assert [(computed, reads) for computed, reads, *_ in full] == [(0, True), (0, True)]
    assert len(shards(tmp_path / "cache")) == 5
    for processes in (empty, full):
        assert all(seconds > 0 for _, _, seconds, _ in processes)
        assert [weights for *_, weights in processes] == [weights for *_, weights in without]


def test_an_error_while_the_cache_is_filled_ends_all_processes(
    experiment: dict, write_config: Callable[..., str], graphpe_process: Callable, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    experiment["trainer"] |= {"devices": 2, "strategy": "ddp"}
    experiment["data"]["cache_dir"] = str(tmp_path / "file")
    finished = graphpe_process("fit", "--config", write_config(experiment))
    assert finished.returncode == 1
    assert finished.stderr.count("cannot write to") == 1, finished.stderr
    assert finished.stderr.count("\n") == 1
