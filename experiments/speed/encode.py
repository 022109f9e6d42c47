"""Time and memory of graphpe's encodings against PyG's own transforms, on the same graphs in the same process.

    python experiments/speed/encode.py --zinc data/zinc
    python experiments/speed/encode.py --ogb ogbg-molhiv --root data/ogb

Prints a table and writes it as JSON. Each method is timed ``--repeats`` times, alternating with the other, and the
fastest run of each counts: machines are shared. PyG's transforms are looped over the dataset, as their users do, on a
part of the graphs (``--pyg-graphs``, evenly spaced), and their time is scaled to all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch_geometric.transforms as pyg_transforms
from benchmark_graphs import zinc
from measuring import circumstances, seconds
from memory import peak_resident, reset_peak, resident
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data, InMemoryDataset
from with_pyg import Eigenvectors

import graphpe
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, Encoding
from graphpe.transforms.core.engine import DEFAULT_MEMORY_BUDGET


def main() -> None:
    arguments = parse()
    if arguments.measure_memory:
        print(json.dumps(peak_memory(arguments)))
        return
    dataset = load(arguments)
    largest = max_nodes(dataset)
    rows = []
    for name, encoding, pyg in cases(largest):
        rows.append(measure(name, dataset, encoding, pyg, arguments))
    report = {
        **circumstances(),
        "dataset": arguments.ogb or "ZINC-12k",
        "graphs": len(dataset),
        "largest_graph": largest,
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
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--pyg-graphs", type=int, default=2000, help="graphs that PyG's loop is timed on"
    )
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--measure-memory", help=argparse.SUPPRESS)
    return parser.parse_args()


def load(arguments: argparse.Namespace) -> InMemoryDataset:
    if arguments.ogb:
        from graphpe.data import OGBGraphs

        return OGBGraphs(arguments.ogb, arguments.root)
    return zinc(arguments.zinc)


def max_nodes(dataset: InMemoryDataset) -> int:
    return int(graphpe.GraphBatch.of(dataset).num_nodes.max())


def cases(largest: int) -> list[tuple[str, Encoding, Callable[[Data], Data]]]:
    """Name, our encoding, and PyG's transform with at most as many eigenvectors as it can give."""
    # By default PyG takes a solver for matrices that are not symmetric; is_undirected=True is its fastest way.
    spectral = [
        (
            f"eigenvectors, {name}; PyG: {setting}",
            AddLaplacianEigenvectorPE(k),
            Eigenvectors(k, is_undirected=flag),
        )
        for name, k in (("k = 8", 8), ("all", largest - 1))
        for setting, flag in (("default", False), ("is_undirected=True", True))
    ]
    return [
        *spectral,
        ("walks, 20 steps", AddRandomWalkPE(20), pyg_transforms.AddRandomWalkPE(20)),
    ]


def measure(
    name: str,
    dataset: InMemoryDataset,
    encoding: Encoding,
    pyg: Callable[[Data], Data],
    arguments: argparse.Namespace,
) -> dict:
    step = max(1, len(dataset) // arguments.pyg_graphs)
    part = dataset[::step]
    scale = len(dataset) / len(part)
    ours, theirs = [], []
    for _ in range(
        arguments.repeats
    ):  # twice each: the first run after the other one finds cold caches
        for _ in range(2):
            ours.append(seconds(lambda: graphpe.encode(dataset, encoding, progress=False)))
        for _ in range(2):
            theirs.append(scale * seconds(lambda: [pyg(data) for data in part]))
    memory = memory_in_a_fresh_process(name, arguments)
    return {
        "encoding": name,
        "graphpe_seconds": min(ours),
        "pyg_seconds": min(theirs),
        "ratio": min(theirs) / min(ours),
        "graphpe_runs": ours,
        "pyg_runs": theirs,
        **memory,
    }


def memory_in_a_fresh_process(name: str, arguments: argparse.Namespace) -> dict:
    """Peak memory of one encode above what the loaded dataset takes, in a process that did nothing else."""
    command = [sys.executable, __file__, "--measure-memory", name]
    command += (
        ["--zinc", arguments.zinc]
        if arguments.zinc
        else ["--ogb", arguments.ogb, "--root", arguments.root]
    )
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def peak_memory(arguments: argparse.Namespace) -> dict:
    dataset = load(arguments)
    encoding = next(
        e for name, e, _ in cases(max_nodes(dataset)) if name == arguments.measure_memory
    )
    graphpe.encode(
        dataset[:64], encoding, progress=False
    )  # libraries load and set up their threads
    before = resident()
    reset_peak()
    encoded = graphpe.encode(dataset, encoding, progress=False)
    peak = peak_resident() - before
    result = sum(
        encoded._data[field.name].numel() * encoded._data[field.name].element_size()
        for field in encoding.fields()
    )
    return {
        "result_mib": result / 2**20,
        "peak_mib": peak / 2**20,
        "allowed_mib": (1.5 * result + DEFAULT_MEMORY_BUDGET) / 2**20,
    }


def show(report: dict) -> None:
    table = Table(
        title=f"{report['graphs']:,} graphs of {report['dataset']} on {report['cores']} cores"
    )
    for column in (
        "encoding",
        "graphpe",
        "PyG's loop",
        "ratio",
        "result",
        "peak",
        "1.5 result + budget",
    ):
        table.add_column(column, justify="left" if column == "encoding" else "right")
    for row in report["rows"]:
        table.add_row(
            row["encoding"],
            f"{row['graphpe_seconds']:.2f} s",
            f"{row['pyg_seconds']:.1f} s",
            f"{row['ratio']:.1f}x",
            f"{row['result_mib']:.0f} MiB",
            f"{row['peak_mib']:.0f} MiB",
            f"{row['allowed_mib']:.0f} MiB",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
