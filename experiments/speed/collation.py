"""Time to make the batches of an epoch: graphpe's loader against PyG's, on the same graphs in the same process.

    python experiments/speed/collation.py --zinc data/zinc --out experiments/results/collation.json
    python experiments/speed/collation.py --ogb ogbg-molhiv --root data/ogb

Prints a table and writes it as JSON. Both loaders go through the same batches of 128 molecules, in the main process, on
one thread and in the same random order; each batch is compared first, to the bit. Each loader is timed ``--repeats``
times, alternating with the other, and the fastest pass of each counts. What is timed is the time that the process was
at work: machines are shared. PyG's dataset has by then all its graphs in its cache, which is its best case.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections import deque
from pathlib import Path

import torch
from benchmark_graphs import zinc
from measuring import circumstances
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader as TorchLoader
from torch_geometric.data import Batch, InMemoryDataset
from torch_geometric.loader import DataLoader

import graphpe
from graphpe.data.loading import GraphBatches, GraphBatchSampler, loader_of
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
)

ENCODINGS = {
    "no encoding": [],
    "8 eigenvectors, 20 walk steps": [AddLaplacianEigenvectorPE(8), AddRandomWalkPE(20)],
    "relative walks of 8 steps (pairs)": [AddRelativeRandomWalkPE(8)],
}


def main() -> None:
    arguments = parse()
    torch.set_num_threads(1)
    dataset = load(arguments)
    rows = [
        {"graphs": name, **measure(graphpe.encode(dataset, encodings, progress=False), arguments)}
        if encodings
        else {"graphs": name, **measure(dataset, arguments)}
        for name, encodings in ENCODINGS.items()
    ]
    report = {
        **circumstances(),
        "dataset": arguments.ogb or "ZINC-12k",
        "graphs": len(dataset),
        "batch_size": arguments.batch_size,
        "rows": rows,
    }
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--zinc", help="root folder of PyG's ZINC")
    source.add_argument("--ogb", help="name of an OGB graph dataset, such as ogbg-molhiv")
    parser.add_argument("--root", default="data/ogb", help="root folder of the OGB dataset")
    parser.add_argument("--graphs", type=int, default=10_000, help="graphs of an epoch, at most")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", help="JSON file to write")
    return parser.parse_args()


def load(arguments: argparse.Namespace) -> InMemoryDataset:
    if arguments.ogb:
        from graphpe.data import OGBGraphs

        return OGBGraphs(arguments.ogb, arguments.root)[: arguments.graphs]
    return zinc(arguments.zinc)[: arguments.graphs]


def measure(dataset: InMemoryDataset, arguments: argparse.Namespace) -> dict:
    order = list(GraphBatchSampler(len(dataset), arguments.batch_size))
    sampler = GraphBatchSampler(len(dataset), arguments.batch_size)
    ours = loader_of(GraphBatches(dataset), sampler, num_workers=0)
    theirs = DataLoader(dataset, batch_sampler=order)

    def seconds(loader: TorchLoader) -> float:
        sampler.set_epoch(0)
        gc.collect()
        start = time.process_time()
        deque(loader, maxlen=0)
        return time.process_time() - start

    sampler.set_epoch(0)
    for one, other in zip(ours, theirs, strict=True):
        require_equal(one, other)
    our_runs, their_runs = [], []
    for _ in range(arguments.repeats):
        our_runs.append(seconds(ours))
        their_runs.append(seconds(theirs))
    return {
        "batches": len(order),
        "graphpe_seconds": min(our_runs),
        "pyg_seconds": min(their_runs),
        "ratio": min(their_runs) / min(our_runs),
        "graphpe_runs": our_runs,
        "pyg_runs": their_runs,
    }


def require_equal(one: Batch, other: Batch) -> None:
    """Stops the benchmark if two batches differ in a bit."""
    for name, value in other.to_dict().items():
        if not torch.equal(one[name], value) or one[name].dtype != value.dtype:
            raise SystemExit(f"{name} of the batches differs")


def show(report: dict) -> None:
    table = Table(
        title=f"Batches of {report['batch_size']}: an epoch of {report['graphs']:,} graphs of "
        f"{report['dataset']}, on one thread"
    )
    for column in ("graphs", "graphpe", "PyG's loader", "ratio"):
        table.add_column(column, justify="left" if column == "graphs" else "right")
    for row in report["rows"]:
        table.add_row(
            row["graphs"],
            f"{row['graphpe_seconds']:.3f} s",
            f"{row['pyg_seconds']:.3f} s",
            f"{row['ratio']:.1f}x",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
