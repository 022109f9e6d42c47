"""Bulk encoding of a whole dataset: scaling, what the cache costs, a warm start, memory, and PyG's way.

    python experiments/speed/bulk.py --root data/ogb --out experiments/results/bulk-molhiv.json

All graphs of ogbg-molhiv get 16 eigenvectors, RWSE of 20 steps and RRWP of 8 steps in one call. Runs with 1 and 2
workers, with and without a cache, alternate, since machines are shared; the fastest of each counts, and all are
recorded. The warm start and the memory are measured in processes that do nothing else. PyG's two transforms run as
they are used, as a ``pre_transform`` of a loop over the graphs, on a part of the dataset (``--pyg-graphs``, evenly
spaced), against our two for the same graphs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch_geometric.transforms as pyg_transforms
from measuring import circumstances, seconds
from memory import peak_resident, reset_peak, resident
from rich.console import Console
from rich.table import Table
from torch_geometric.data import InMemoryDataset
from with_pyg import Eigenvectors

import graphpe
from graphpe.data import OGBGraphs
from graphpe.data.loading import GraphBatches, loader_in_order
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
)

DATASET = "ogbg-molhiv"
ENCODINGS = [
    AddLaplacianEigenvectorPE(16),
    AddRandomWalkPE(20),
    AddRelativeRandomWalkPE(8),
]
BATCH_SIZE = 128
GRAPHS_OF_PCQM4MV2 = 3_746_620


def main() -> None:
    arguments = parse()
    if arguments.measure:
        measure = {"warm": warm_start, "memory": memory}[arguments.measure]
        print(json.dumps(measure(load(arguments.root), Path(arguments.cache_dir))))
        return
    dataset = load(arguments.root)
    report = {
        **circumstances(),
        "dataset": DATASET,
        "graphs": len(dataset),
        "encodings": [repr(encoding) for encoding in ENCODINGS],
        **bulk(dataset, arguments),
        **in_processes_of_their_own(arguments),
        **against_pyg(dataset, arguments),
    }
    report["projected_hours_pcqm4mv2"] = (
        GRAPHS_OF_PCQM4MV2 / len(dataset) * min(report["runs"]["2 workers, cache"]) / 3600
    )
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--root", default="data/ogb", help="root folder of the OGB datasets")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--pyg-graphs", type=int, default=2000, help="graphs that both are timed on"
    )
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--cache-dir", help=argparse.SUPPRESS)
    parser.add_argument("--measure", choices=("warm", "memory"), help=argparse.SUPPRESS)
    return parser.parse_args()


def load(root: str) -> InMemoryDataset:
    return OGBGraphs(DATASET, root)


def bulk(dataset: InMemoryDataset, arguments: argparse.Namespace) -> dict:
    """Seconds of whole runs, and the ratios of the fastest."""
    runs: dict[str, list[float]] = {}
    graphpe.encode(dataset[:2000], ENCODINGS, progress=False)  # libraries load
    for _ in range(arguments.repeats):
        for workers in (1, 2):
            plain = seconds(
                lambda w=workers: graphpe.encode(dataset, ENCODINGS, workers=w, progress=False)
            )
            runs.setdefault(f"{workers} workers, no cache", []).append(plain)
            for executor in ("threads", "processes"):
                folder = tempfile.mkdtemp(dir=arguments.cache_dir)
                cached = seconds(
                    lambda w=workers, e=executor, f=folder: graphpe.encode(
                        dataset, ENCODINGS, workers=w, executor=e, cache_dir=f, progress=False
                    )
                )
                shutil.rmtree(folder)
                name = "cache" if executor == "threads" else "cache, processes"
                runs.setdefault(f"{workers} workers, {name}", []).append(cached)
    best = {name: min(times) for name, times in runs.items()}
    return {
        "runs": runs,
        "graphs_per_second": {name: len(dataset) / time_ for name, time_ in best.items()},
        "scaling_no_cache": best["1 workers, no cache"] / best["2 workers, no cache"],
        "scaling_cache": best["1 workers, cache"] / best["2 workers, cache"],
        "scaling_processes": best["1 workers, cache, processes"]
        / best["2 workers, cache, processes"],
        "cache_overhead_1_worker": best["1 workers, cache"] / best["1 workers, no cache"] - 1,
        "cache_overhead_2_workers": best["2 workers, cache"] / best["2 workers, no cache"] - 1,
    }


def in_processes_of_their_own(arguments: argparse.Namespace) -> dict:
    """Memory of filling an empty cache, then the time to the first batch from it."""
    with tempfile.TemporaryDirectory(dir=arguments.cache_dir) as folder:
        found = {}
        for what in ("memory", "warm"):
            command = [sys.executable, __file__, "--measure", what, "--root", arguments.root]
            command += ["--cache-dir", folder]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found |= json.loads(output.splitlines()[-1])
    return found


def memory(dataset: InMemoryDataset, folder: Path) -> dict:
    graphpe.encode(dataset[:64], ENCODINGS, progress=False)  # libraries load
    before = resident()
    reset_peak()
    graphpe.encode(dataset, ENCODINGS, workers=2, cache_dir=folder, progress=False)
    return {
        "peak_mib": peak_resident() / 2**20,
        "peak_beyond_dataset_mib": (peak_resident() - before) / 2**20,
        "cache_mib": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        / 2**20,
    }


def warm_start(dataset: InMemoryDataset, folder: Path) -> dict:
    """Seconds from the call to the first batch, all of whose graphs are spread over the dataset."""
    start = time.perf_counter()
    encoded = graphpe.encode(dataset, ENCODINGS, cache_dir=folder, progress=False)
    spread = encoded[:: len(encoded) // BATCH_SIZE]
    next(iter(loader_in_order(GraphBatches(spread), BATCH_SIZE, 0)))
    return {"seconds_to_first_batch": time.perf_counter() - start}


def against_pyg(dataset: InMemoryDataset, arguments: argparse.Namespace) -> dict:
    """Eigenvectors and RWSE of the same graphs, by us and by PyG's transforms one graph after the other."""
    part = dataset[:: max(1, len(dataset) // arguments.pyg_graphs)]
    runs: dict[str, list[float]] = {"graphpe": [], "graphpe, cache": []}
    walks = pyg_transforms.AddRandomWalkPE(20)
    for _ in range(arguments.repeats):
        runs["graphpe"].append(seconds(lambda: graphpe.encode(part, ENCODINGS[:2], progress=False)))
        with tempfile.TemporaryDirectory(dir=arguments.cache_dir) as folder:
            runs["graphpe, cache"].append(
                seconds(
                    lambda f=folder: graphpe.encode(
                        part, ENCODINGS[:2], cache_dir=f, progress=False
                    )
                )
            )
        for name, is_undirected in (("PyG, default", False), ("PyG, is_undirected=True", True)):
            eigenvectors = Eigenvectors(16, is_undirected)
            # Not collated: PyG's eigenvectors of small graphs are fewer, which it can't put together.
            theirs = seconds(lambda first=eigenvectors: [walks(first(data)) for data in part])
            runs.setdefault(name, []).append(theirs)
    best = {name: min(times) for name, times in runs.items()}
    return {
        "pyg_graphs": len(part),
        "pyg_runs": runs,
        "times_as_fast_as_pyg_default": best["PyG, default"] / best["graphpe"],
        "times_as_fast_as_pyg_undirected": best["PyG, is_undirected=True"] / best["graphpe"],
        "times_as_fast_as_pyg_default_with_cache": best["PyG, default"] / best["graphpe, cache"],
    }


def show(report: dict) -> None:
    table = Table(title=f"{report['graphs']:,} graphs of {DATASET} on {report['cores']} cores")
    table.add_column("")
    table.add_column("", justify="right")
    for name, rate in report["graphs_per_second"].items():
        table.add_row(f"graphs/s, {name}", f"{rate:,.0f}")
    for name, value in report.items():
        if isinstance(value, float):
            table.add_row(name.replace("_", " "), f"{value:,.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
