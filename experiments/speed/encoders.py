"""Time and memory of every learned encoder, forward and backward, on a batch of molecules.

    python experiments/speed/encoders.py --zinc data/zinc --out experiments/results/encoders-speed.json
    python experiments/speed/encoders.py --only SPE-37
    python experiments/speed/encoders.py --markdown experiments/results/encoders-speed.json

at the sizes of ``encoder_cases.py``, on molecules of ZINC-12k's training set, or without ``--zinc`` of the bundled
ogbg-molesol: as many as ``--batch-size``, evenly spaced in the dataset ordered by size, so that batches of all sizes
have molecules of the same sizes. SPE and SignNet are measured against the same networks as published code computes
them, and against one graph after the other (``per_graph_encoders.py``); then again for batches of other sizes.

Each measurement has a process of its own, with ``--threads``. A step on two molecules comes first, by which libraries
load and set up what they need. Peak memory is what the process has at most during the steps, less what it had before
them, data and weights included; the fastest step counts, since machines are shared. The outputs of the other methods
must be those of graphpe's encoder in float64.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from benchmark_graphs import dataset_of
from encoder_cases import CASES, Case
from encoders_table import markdown
from measuring import circumstances
from memory import peak_resident, reset_peak, resident
from rich.console import Console
from rich.table import Table
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.datasets import ZINC

import graphpe
from graphpe.data import OGBGraphs

REPOSITORY = Path(__file__).resolve().parents[2]

BATCH_SIZES = (16, 32, 64, 128, 256)
OF_SEVERAL_BATCH_SIZES = {"SPE-37": ("graphpe", "published"), "SignNet-8": ("graphpe", "published")}

# Relative to the largest number, in float64.
LARGEST_DIFFERENCE = 1e-9


def main() -> None:
    arguments = parse()
    if arguments.markdown:
        print(markdown(json.loads(Path(arguments.markdown).read_text())))
        return
    if arguments.method:
        print(json.dumps(measure(arguments)))
        return
    start = time.perf_counter()
    names = [arguments.only] if arguments.only else list(CASES)
    rows = [measure_case(name, arguments) for name in names]
    sweeps = [] if arguments.only else [sweep(name, arguments) for name in OF_SEVERAL_BATCH_SIZES]
    report = {
        **circumstances(),
        "threads": arguments.threads,
        # How glibc hands out memory, where that has been set.
        "allocator": {name: os.environ[name] for name in os.environ if name.startswith("MALLOC_")},
        "minutes": round((time.perf_counter() - start) / 60, 1),
        "dataset": "ZINC-12k" if arguments.zinc else "ogbg-molesol",
        "batch": describe(arguments),
        "rows": rows,
        "batch_sizes": sweeps,
    }
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--zinc", help="root folder of PyG's ZINC")
    parser.add_argument(
        "--molesol",
        default=str(REPOSITORY / "datasets" / "bundled"),
        help="root folder of ogbg-molesol, for another than the bundled one",
    )
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="time of the steps of one method")
    parser.add_argument("--steps", type=int, default=3, help="fewest steps of one method")
    parser.add_argument("--only", choices=list(CASES), help="a single encoder", metavar="ENCODER")
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--markdown", metavar="FILE", help="measure nothing; print from a record")
    parser.add_argument("--method", help=argparse.SUPPRESS)  # measured in this process
    return parser.parse_args()


def measure_case(name: str, arguments: argparse.Namespace) -> dict:
    """All methods of a case on one batch."""
    case = CASES[name]
    encoder = case.build()
    methods = {
        method: in_a_fresh_process(name, method, arguments.batch_size, arguments.steps, arguments)
        for method in case.methods(encoder)
    }
    return {
        "encoder": name,
        "class": type(encoder).__name__,
        "settings": case.settings,
        "encodings": [repr(encoding) for encoding in case.encodings],
        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "methods": methods,
    }


def sweep(name: str, arguments: argparse.Namespace) -> dict:
    """Some methods of a case on batches of several sizes."""
    methods = {
        method: {size: in_a_fresh_process(name, method, size, 1, arguments) for size in BATCH_SIZES}
        for method in OF_SEVERAL_BATCH_SIZES[name]
    }
    return {"encoder": name, "methods": methods}


def in_a_fresh_process(
    name: str, method: str, batch_size: int, steps: int, arguments: argparse.Namespace
) -> dict:
    command = [sys.executable, __file__, "--only", name, "--method", method]
    command += ["--batch-size", str(batch_size), "--steps", str(steps)]
    command += ["--threads", str(arguments.threads), "--seconds", str(arguments.seconds)]
    command += ["--zinc", arguments.zinc] if arguments.zinc else ["--molesol", arguments.molesol]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured = json.loads(result.stdout.splitlines()[-1])
    print(
        f"{name}, {method}, {batch_size} molecules: {measured['seconds']:.3f} s, "
        f"{measured['peak_mib']:,.0f} MiB",
        file=sys.stderr,
    )
    return measured


def measure(arguments: argparse.Namespace) -> dict:
    """One method on one batch, in this process."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    case = CASES[arguments.only]
    graphs = encode(molecules(arguments), case)
    batch = Batch.from_data_list(graphs)
    encoder = case.build().train()
    network = case.methods(encoder)[arguments.method]
    step(network, Batch.from_data_list(graphs[:2]))

    gc.collect()
    before = resident()
    reset_peak()
    runs = []
    while len(runs) < arguments.steps or sum(runs) < arguments.seconds:
        runs.append(step(network, batch))
    peak = peak_resident() - before
    measured = {
        "seconds": min(runs),
        "median_seconds": statistics.median(runs),
        "graphs_per_second": len(graphs) / min(runs),
        "peak_mib": peak / 2**20,
        "runs": runs,
    }
    if network is not encoder:
        measured["difference"] = difference(network, encoder, graphs[:: max(1, len(graphs) // 8)])
    return measured


def step(network: nn.Module, batch: Batch) -> float:
    """Seconds of forward and backward."""
    network.zero_grad()
    start = time.perf_counter()
    network(batch).square().mean().backward()
    return time.perf_counter() - start


def difference(network: nn.Module, encoder: nn.Module, graphs: list[Data]) -> float:
    """Of the outputs of two networks with the same weights, which become float64, relative to the largest."""
    batch = Batch.from_data_list(graphs)
    batch = batch.apply(lambda value: value.double() if value.is_floating_point() else value)
    with torch.no_grad():
        expected = encoder.double()(batch)
        largest = (network.double()(batch) - expected).abs().max() / expected.abs().max()
    if not largest < LARGEST_DIFFERENCE:
        raise AssertionError(
            f"the outputs differ by {float(largest)} of the largest: this is no comparison"
        )
    return float(largest)


def molecules(arguments: argparse.Namespace) -> list[Data]:
    """As many as the batch size, evenly spaced in the order of sizes."""
    if arguments.zinc:
        dataset = ZINC(arguments.zinc, subset=True, split="train")
    else:
        dataset = OGBGraphs("ogbg-molesol", arguments.molesol)
    by_size = graphpe.GraphBatch.of(dataset).num_nodes.argsort(stable=True)
    middle = (torch.arange(arguments.batch_size) + 0.5) / arguments.batch_size
    chosen = by_size[(middle * len(dataset)).long()]
    return [
        Data(
            edge_index=data.edge_index,
            edge_attr=data.edge_attr.view(data.num_edges, -1)[:, :1],  # the type of bond
            num_nodes=data.num_nodes,
        )
        for data in (dataset[number] for number in chosen.tolist())
    ]


def encode(graphs: list[Data], case: Case) -> list[Data]:
    if not case.encodings:
        return graphs
    return list(graphpe.encode(dataset_of(graphs), case.encodings, workers=1, progress=False))


def describe(arguments: argparse.Namespace) -> dict:
    sizes = [data.num_nodes for data in molecules(arguments)]
    return {
        "graphs": len(sizes),
        "mean_nodes": round(statistics.mean(sizes), 1),
        "nodes": [min(sizes), max(sizes)],
        "mean_pairs": round(statistics.mean(size**2 for size in sizes)),
    }


def show(report: dict) -> None:
    console = Console(width=110)
    batch = report["batch"]
    table = Table(
        title=f"Forward and backward of {batch['graphs']} molecules ({report['dataset']}, {batch['mean_nodes']} nodes "
        f"on average), threads: {report['threads']}"
    )
    for column in (
        "encoder",
        "parameters",
        "method",
        "step",
        "molecules per second",
        "peak memory",
    ):
        table.add_column(column, justify="left" if column in ("encoder", "method") else "right")
    for row in report["rows"]:
        for method, measured in row["methods"].items():
            is_first = method == "graphpe"
            table.add_row(
                row["encoder"] if is_first else "",
                f"{row['parameters']:,}" if is_first else "",
                method,
                f"{measured['seconds']:.3f} s",
                f"{measured['graphs_per_second']:,.0f}",
                f"{measured['peak_mib']:,.0f} MiB",
            )
    console.print(table)
    for one in report["batch_sizes"]:
        table = Table("method", *map(str, BATCH_SIZES), title=f"{one['encoder']}: ms per molecule")
        for method, by_size in one["methods"].items():
            cells = [1e3 / measured["graphs_per_second"] for measured in by_size.values()]
            table.add_row(method, *(f"{cell:.2f}" for cell in cells))
        console.print(table)


if __name__ == "__main__":
    main()
