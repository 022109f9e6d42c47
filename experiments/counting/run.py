"""Counts cycles with every encoding and every seed, on the same network.

    python -m experiments.counting.run --seeds 0 1 2 --jobs 2
    python -m experiments.counting.run --graphs dataset1_er.npz

Run it in the root of the repository. Each run is a ``graphpe fit``; what came out is added to
``experiments/results/counting.json`` (random graphs that are generated) or ``counting-published-graphs.json`` (those of
a file) when it ends. Runs that are there are not repeated, so that an interrupted experiment goes on where it stopped.
At the end the tables and the figure of ``docs/stability.md`` are made anew.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.counting.report import update_page
from experiments.reporting import RESULTS, ROOT, circumstances, save_record

HERE = Path(__file__).resolve().parent
LENGTHS = (3, 4, 5, 6)
ENCODINGS = ("none", "eigenvectors", "peg", "sign_net", "basis_net", "spe", "walks")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--graphs", type=Path, help="file with the random graphs of Chen et al.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=ENCODINGS, default=ENCODINGS)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, with one thread each")
    arguments = parser.parse_args(words)
    record = Record(arguments.graphs)
    todo = [
        (encoding, seed)
        for seed in arguments.seeds
        for encoding in arguments.only
        if not record.has(encoding, seed)
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for line in pool.map(lambda run: record.add(fit(*run, arguments.graphs)), todo):
            print(line, flush=True)
    update_page()


def command(encoding: str, seed: int | str, graphs: Path | str | None) -> list[str]:
    """The words of one run."""
    card = "datasets/cycle-counting.yaml"
    if graphs is not None:
        card = "experiments/counting/graph_file.yaml"
    files = [card, "experiments/counting/experiment.yaml", f"experiments/counting/{encoding}.yaml"]
    words = ["graphpe", "fit", *(word for path in files for word in ("--config", path))]
    if graphs is not None:
        words += ["--data.dataset.init_args.path", str(graphs)]
    return [*words, "--seed_everything", str(seed)]


def fit(
    encoding: str,
    seed: int,
    graphs: Path | None = None,
    runs: Path = ROOT / "runs",
    options: Sequence[str] = (),
) -> dict:
    """One run; its results.

    Args:
        encoding: Name of the configuration file.
        seed: Seed of the run.
        graphs: File of the graphs; None generates them.
        runs: Folder of runs.
        options: Further words of the command line.
    """
    name = f"counting-{encoding}-{seed}"
    words = command(encoding, seed, graphs and graphs.resolve())
    words += ["--experiment.name", name, "--experiment.folder", str(runs)]
    words += ["--trainer.enable_progress_bar", "false", *options]
    done = subprocess.run(
        [sys.executable, "-m", "graphpe.cli", *words[1:]],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    folder = max((runs / name).glob("version_*"), key=lambda path: path.stat().st_mtime)
    summary = json.loads((folder / "summary.json").read_text())
    return {
        "encoding": encoding,
        "seed": seed,
        "test_mae": errors(folder / "predictions.csv"),
        "mean_test_mae": summary["test"],
        "mean_valid_mae": summary["valid"],
        "best_epoch": summary["best_epoch"],
        "num_parameters": summary["num_parameters"],
        "training_seconds": round(summary["training_seconds"], 1),
    }


def errors(predictions: Path) -> dict[str, float]:
    """The mean absolute error for each length of cycles, in standard deviations of the training targets."""
    with predictions.open() as file:
        rows = list(csv.DictReader(file))
    return {
        str(length): sum(abs(float(r[f"prediction_{i}"]) - float(r[f"target_{i}"])) for r in rows)
        / len(rows)
        for i, length in enumerate(LENGTHS)
    }


class Record:
    """The results so far, in a file that is always whole.

    Args:
        graphs: File of the graphs; None for generated ones.
        folder: Folder of the record.
    """

    def __init__(self, graphs: Path | None, folder: Path = RESULTS) -> None:
        name = "counting" if graphs is None else "counting-published-graphs"
        self.path = folder / f"{name}.json"
        self.lock = threading.Lock()
        if self.path.exists():
            self.content = json.loads(self.path.read_text())
            return
        words = command("ENCODING", "SEED", graphs and graphs.name)
        self.content = {
            "experiment": name,
            **circumstances(" ".join(words)),
            "selection": "None: one setting for all encodings, the first that was tried. PEG had a run with all ten "
            "eigenvectors, from which it is constant.",
            "runs": [],
        }

    def has(self, encoding: str, seed: int) -> bool:
        return any(r["encoding"] == encoding and r["seed"] == seed for r in self.content["runs"])

    def add(self, result: dict) -> str:
        with self.lock:
            self.content["runs"].append(result)
            save_record(self.content, self.path)
        mae = ", ".join(f"{length}: {error:.4f}" for length, error in result["test_mae"].items())
        seconds = result["training_seconds"]
        return f"{result['encoding']} seed {result['seed']}: {mae} ({seconds} s)"


if __name__ == "__main__":
    main()
