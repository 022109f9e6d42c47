"""Runs an experiment on directed graphs: every encoding with every seed, on the same network.

    python experiments/directed/run.py distance --seeds 0 1 2 --jobs 2

Each run is a ``graphpe fit``; what came out is added to ``experiments/results/directed-NAME.json`` when it ends. Runs
that are there are not repeated, so that an interrupted experiment goes on where it stopped. At the end the tables in
``docs/directed.md`` are written anew.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib
import json
import os
import platform
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import lightning
import torch
import torch_geometric
import yaml
from tables import update_page

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Experiment:
    """A dataset card, and the encodings to compare on it; all paths are relative to the repository."""

    card: str
    encodings: tuple[str, ...]
    group_by: str | None = None  # an attribute of the graphs by which the test result is split up


EXPERIMENTS = {
    "distance": Experiment(
        "datasets/directed-distance-dag.yaml",
        ("none", "laplacian", "single_q", "multi_q", "walks"),
    ),
    "sorting": Experiment(
        "datasets/sorting-networks.yaml",
        ("none", "laplacian", "unscaled", "single_q", "walks"),
        group_by="wires",
    ),
    "functions": Experiment(
        "datasets/python-functions.yaml",
        ("none", "laplacian", "single_q", "walks", "data_flow"),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--encodings", nargs="+", help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, with one thread each")
    arguments = parser.parse_args()
    experiment = EXPERIMENTS[arguments.name]
    record = Record(arguments.name, experiment)
    todo = [
        (encoding, seed)
        for seed in arguments.seeds
        for encoding in arguments.encodings or experiment.encodings
        if not record.has(encoding, seed)
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(
            lambda run: record.add(*run, fit(arguments.name, experiment, *run)), todo
        ):
            print(result, flush=True)
    update_page()


def command(name: str, experiment: Experiment, encoding: str, seed: int | str) -> list[str]:
    configurations = [
        experiment.card,
        f"experiments/directed/{name}/experiment.yaml",
        f"experiments/directed/{name}/{encoding}.yaml",
    ]
    options = [word for path in configurations for word in ("--config", path)]
    return ["graphpe", "fit", *options, "--seed_everything", str(seed)]


def fit(name: str, experiment: Experiment, encoding: str, seed: int) -> dict:
    """One run; its results."""
    run = f"directed-{name}-{encoding}-{seed}"
    words = command(name, experiment, encoding, seed)
    words += ["--experiment.name", run, "--trainer.enable_progress_bar", "false"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "graphpe.cli", *words[1:]],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    folder = max((ROOT / "runs" / run).glob("version_*"), key=lambda path: path.stat().st_mtime)
    summary = json.loads((folder / "summary.json").read_text())
    result = {
        "encoding": encoding,
        "seed": seed,
        "test": {summary["metric"]: summary["test"], **summary["more"]},
        "valid": summary["valid"],
        "best_epoch": summary["best_epoch"],
        "num_parameters": summary["num_parameters"],
        "encoding_seconds": round(summary["encoding_seconds"], 1),
        "training_seconds": round(summary["training_seconds"], 1),
    }
    if experiment.group_by is not None:
        result["test_accuracy_by_group"] = accuracy_by(experiment.group_by, folder)
    return result


def accuracy_by(attribute: str, folder: Path) -> dict[str, float]:
    """The accuracy on the test graphs with each value of a graph attribute."""
    source = yaml.safe_load((folder / "config.yaml").read_text())["data"]["dataset"]
    module, _, name = source["class_path"].rpartition(".")
    settings = source["init_args"] | {"root": ROOT / source["init_args"]["root"]}
    graphs, _ = getattr(importlib.import_module(module), name)(**settings).load()
    right: dict[int, list[bool]] = {}
    with (folder / "predictions.csv").open() as file:
        for row in csv.DictReader(file):
            value = int(graphs[int(row["graph"])][attribute])
            correct = (float(row["prediction_0"]) > 0.5) == (float(row["target_0"]) > 0.5)
            right.setdefault(value, []).append(correct)
    return {str(value): sum(found) / len(found) for value, found in sorted(right.items())}


class Record:
    """The results of an experiment so far, in a file that is always whole."""

    def __init__(self, name: str, experiment: Experiment) -> None:
        self.path = ROOT / "experiments" / "results" / f"directed-{name}.json"
        self.lock = threading.Lock()
        if self.path.exists():
            self.content = json.loads(self.path.read_text())
            return
        self.content = {
            "experiment": name,
            "command": " ".join(command(name, experiment, "ENCODING", "SEED")),
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, one thread per run; other work may run beside it",
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "torch_geometric": torch_geometric.__version__,
                "lightning": lightning.__version__,
            },
            "runs": [],
        }

    def has(self, encoding: str, seed: int) -> bool:
        return any(r["encoding"] == encoding and r["seed"] == seed for r in self.content["runs"])

    def add(self, encoding: str, seed: int, result: dict) -> str:
        with self.lock:
            self.content["runs"].append(result)
            unfinished = self.path.with_suffix(".tmp")
            unfinished.write_text(json.dumps(self.content, indent=1) + "\n")
            unfinished.replace(self.path)
        return f"{encoding} seed {seed}: {result['test']} ({result['training_seconds']} s)"


if __name__ == "__main__":
    main()
