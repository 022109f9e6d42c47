"""Time of every encoding against the code that one would write for a single graph, in the same process.

    python experiments/speed/all_encodings.py --zinc data/zinc
    python experiments/speed/all_encodings.py

on molecules (ZINC-12k; without ``--zinc`` the bundled ogbg-molesol) and on generated graphs of 100 to 500 nodes. The
code for a single graph is in ``per_graph.py``; it is looped over evenly spaced graphs, as many as take about
``--seconds``, which lie ready in a list, and what it gives is not stored with them. Each method is timed ``--repeats``
times, alternating with the other, and the fastest run of each counts: machines are shared. Then several encodings in
one call are timed against one call for each of them.

Prints tables and writes them as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import networkx as nx
from benchmark_graphs import (
    dataset_of,
    evenly_spaced,
    from_lower_to_higher,
    larger_graphs,
    zinc,
)
from cases import CASES, GROUPS, Case
from measuring import circumstances, seconds
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data, InMemoryDataset

import graphpe
from graphpe.data import OGBGraphs
from graphpe.transforms import Encoding

REPOSITORY = Path(__file__).resolve().parents[2]

# Of slow code for a single graph, so that the sample has graphs of all kinds and sizes.
FEWEST_GRAPHS = 12

# After these an encoding is not repeated.
LONGEST_SECONDS = 20


def main() -> None:
    arguments = parse()
    datasets = {"molecules": molecules(arguments), "larger": larger_graphs(arguments.larger_graphs)}
    rows = []
    for case in CASES:
        if arguments.only in type(case.encoding).__name__:
            measured = {name: measure(case, data, arguments) for name, data in datasets.items()}
            rows.append({"encoding": repr(case.encoding), "per_graph": case.made_with, **measured})
            tell(rows[-1]["encoding"], measured)
    together = []
    for group, encodings in GROUPS.items():
        if not arguments.only:
            measured = {
                name: measure_together(encodings, data, arguments.repeats)
                for name, data in datasets.items()
            }
            together.append({"group": group, "encodings": list(map(repr, encodings)), **measured})
            tell(group, measured)
    report = {
        **circumstances(),
        "networkx": nx.__version__,
        "datasets": {
            "molecules": {
                "name": "ZINC-12k" if arguments.zinc else "ogbg-molesol",
                **describe(datasets["molecules"]),
            },
            "larger": {"name": "generated", **describe(datasets["larger"])},
        },
        "rows": rows,
        "together": together,
    }
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--zinc", help="root folder of PyG's ZINC")
    parser.add_argument("--graphs", type=int, help="number of molecules; all of them by default")
    parser.add_argument("--larger-graphs", type=int, default=48)
    parser.add_argument(
        "--only", default="", help="part of the names of encodings, e.g. HeatKernel"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="time of one run of a loop over graphs"
    )
    parser.add_argument("--out", help="JSON file to write")
    return parser.parse_args()


def molecules(arguments: argparse.Namespace) -> InMemoryDataset:
    bundled = REPOSITORY / "datasets" / "bundled"
    dataset = zinc(arguments.zinc) if arguments.zinc else OGBGraphs("ogbg-molesol", bundled)
    return dataset_of(evenly_spaced(dataset, arguments.graphs or len(dataset)))


def describe(dataset: InMemoryDataset) -> dict:
    sizes = graphpe.GraphBatch.of(dataset).num_nodes
    return {
        "graphs": len(dataset),
        "mean_nodes": round(float(sizes.double().mean()), 1),
        "nodes": [int(sizes.min()), int(sizes.max())],
    }


def measure(case: Case, dataset: InMemoryDataset, arguments: argparse.Namespace) -> dict:
    """Microseconds per graph of both."""
    if case.acyclic:
        dataset = from_lower_to_higher(dataset)

    def loop(graphs: list[Data]) -> list:
        return [case.function(data) for data in graphs]

    with warnings.catch_warnings():  # of single nodes and the like, in the code for a single graph
        warnings.simplefilter("ignore")
        part = evenly_spaced(dataset, FEWEST_GRAPHS)
        loop(part[:1])  # libraries load
        count = int(len(part) * arguments.seconds / seconds(lambda: loop(part)))
        part = evenly_spaced(dataset, max(count, FEWEST_GRAPHS))
        ours, theirs = [], []
        start = time.perf_counter()
        for _ in range(arguments.repeats):
            # Twice: the first run after the other one finds cold caches.
            ours += [seconds(lambda: encode(dataset, case.encoding)) for _ in range(2)]
            theirs.append(seconds(lambda: loop(part)))
            if time.perf_counter() - start > LONGEST_SECONDS:
                break
    ours_us = 1e6 * min(ours) / len(dataset)
    per_graph_us = 1e6 * min(theirs) / len(part)
    return {
        "graphpe_us": ours_us,
        "per_graph_us": per_graph_us,
        "ratio": per_graph_us / ours_us,
        "per_graph_graphs": len(part),
        "graphpe_runs_s": ours,
        "per_graph_runs_s": theirs,
    }


def measure_together(encodings: list[Encoding], dataset: InMemoryDataset, repeats: int) -> dict:
    """Microseconds per graph of one call for all, and of one call for each."""
    together: list[float] = []
    separate: list[list[float]] = [[] for _ in encodings]
    start = time.perf_counter()
    for _ in range(repeats):
        together += [seconds(lambda: encode(dataset, encodings)) for _ in range(2)]
        for encoding, times in zip(encodings, separate, strict=True):
            times += [seconds(lambda one=encoding: encode(dataset, one)) for _ in range(2)]
        if time.perf_counter() - start > LONGEST_SECONDS:
            break
    together_us = 1e6 * min(together) / len(dataset)
    separate_us = [1e6 * min(times) / len(dataset) for times in separate]
    return {
        "together_us": together_us,
        "separate_us": separate_us,
        "ratio": together_us / sum(separate_us),
    }


def encode(dataset: InMemoryDataset, encodings: Encoding | list[Encoding]) -> InMemoryDataset:
    return graphpe.encode(dataset, encodings, progress=False)


def tell(what: str, measured: dict[str, dict]) -> None:
    ratios = ", ".join(f"{name} {times['ratio']:.2f}" for name, times in measured.items())
    print(f"{what}: {ratios}", file=sys.stderr)


def show(report: dict) -> None:
    console = Console(width=150)
    sizes = {
        name: f"{about['graphs']:,} graphs of {about['nodes'][0]} to {about['nodes'][1]} nodes, "
        f"mean {about['mean_nodes']:.0f} ({about['name']})"
        for name, about in report["datasets"].items()
    }
    console.print(f"Microseconds per graph on {report['cores']} cores")
    for name, size in sizes.items():
        console.print(f"  {name}: {size}")

    table = Table()
    for column in ("encoding", "for a single graph", *(["graphpe", "loop", "ratio"] * 2)):
        table.add_column(column, justify="right" if len(table.columns) > 1 else "left")
    for row in report["rows"]:
        numbers = [
            text
            for name in sizes
            for text in (
                f"{row[name]['graphpe_us']:,.1f}",
                f"{row[name]['per_graph_us']:,.0f}",
                f"{row[name]['ratio']:.1f}x",
            )
        ]
        table.add_row(row["encoding"], row["per_graph"], *numbers)
    console.print(table)
    if not report["together"]:
        return

    table = Table()
    for column in ("several encodings", *(["together", "separate", "ratio"] * 2)):
        table.add_column(column, justify="right" if len(table.columns) else "left")
    for row in report["together"]:
        numbers = [
            text
            for name in sizes
            for text in (
                f"{row[name]['together_us']:,.1f}",
                f"{sum(row[name]['separate_us']):,.1f}",
                f"{row[name]['ratio']:.2f}",
            )
        ]
        table.add_row(row["group"], *numbers)
    console.print(table)


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
