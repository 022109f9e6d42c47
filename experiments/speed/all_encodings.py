"""Time of every encoding against the code that one would write for a single graph, in the same process.

    python experiments/speed/all_encodings.py --zinc data/zinc --out experiments/results/encodings-speed.json
    python experiments/speed/all_encodings.py --markdown experiments/results/encodings-speed.json

on molecules (ZINC-12k; without ``--zinc`` the bundled ogbg-molesol) and on generated graphs of 100 to 500 nodes. The
code for a single graph is a ``pre_transform``, once with PyG's utilities or networkx (``with_pyg.py``) and once with
numpy (``with_numpy.py``). It runs as its users run it: over a list of graphs, the results of which are kept, in one
process, with the default number of threads or with one, whichever is faster; on evenly spaced graphs, as many as take
about ``--seconds``. graphpe encodes the whole dataset, on all cores
and again on one. The methods take turns, ``--repeats`` times, and the fastest run of each counts: machines are shared.
Then several encodings in one call are timed against one call for each of them.

Prints the section on it of the README, and writes the numbers as JSON; ``--markdown`` prints it from such a file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
from benchmark_graphs import (
    dataset_of,
    evenly_spaced,
    from_lower_to_higher,
    larger_graphs,
    zinc,
)
from cases import CASES, GROUPS, Case
from encodings_table import markdown
from measuring import circumstances, seconds
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.transforms import BaseTransform

import graphpe
from graphpe.data import OGBGraphs
from graphpe.transforms import Encoding
from graphpe.transforms.core.threads import single_threaded_blas, single_threaded_torch

REPOSITORY = Path(__file__).resolve().parents[2]

# Of slow code for a single graph, so that the sample has graphs of all kinds and sizes.
FEWEST_GRAPHS = 12

# After these, what is measured is not repeated.
LONGEST_SECONDS = 5


def main() -> None:
    arguments = parse()
    if arguments.markdown:
        print(markdown(json.loads(Path(arguments.markdown).read_text())), end="")
        return
    start = time.perf_counter()
    datasets = {"molecules": molecules(arguments), "larger": larger_graphs(arguments.larger_graphs)}
    rows = []
    for case in CASES:
        if arguments.only in type(case.encoding).__name__:
            measured = {name: measure(case, data, arguments) for name, data in datasets.items()}
            rows.append({"encoding": repr(case.encoding), **measured})
            tell(rows[-1])
    together = []
    for group, encodings in GROUPS.items():
        if not arguments.only:
            measured = {
                name: measure_together(encodings, data, arguments.repeats)
                for name, data in datasets.items()
            }
            together.append({"group": group, "encodings": list(map(repr, encodings)), **measured})
            tell(together[-1])
    report = {
        **circumstances(),
        "networkx": nx.__version__,
        "numpy": np.__version__,
        "minutes": round((time.perf_counter() - start) / 60, 1),
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
    print(markdown(report), end="")
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
        "--seconds", type=float, default=0.3, help="time of one run of a loop over graphs"
    )
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--markdown", metavar="FILE", help="measure nothing; print from a record")
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
    """Microseconds per graph of each method, and how many times as long as graphpe's others take."""
    if case.acyclic:
        dataset = from_lower_to_higher(dataset)
    with warnings.catch_warnings():  # of single nodes and the like, in the code for a single graph
        warnings.simplefilter("ignore")
        # Ours is run twice in a turn: the first run after another method finds cold caches.
        ours = partial(encode, dataset, case.encoding)
        on_one_core = partial(encode, dataset, case.encoding, workers=1)
        methods: dict[str, tuple[int, list[Callable]]] = {
            "graphpe": (len(dataset), [ours, ours]),
            "one_core": (len(dataset), [on_one_core]),
        }
        for kind, transform in case.pre_transforms().items():
            part = sample(dataset, transform, arguments.seconds)
            methods[kind] = (
                len(part),
                [partial(loop, transform, part), partial(single_threaded_loop, transform, part)],
            )
        runs: dict[str, list[float]] = {method: [] for method in methods}
        start = time.perf_counter()
        for _ in range(arguments.repeats):
            for method, (_, functions) in methods.items():
                runs[method] += map(seconds, functions)
            if time.perf_counter() - start > LONGEST_SECONDS:
                break
    counts = {method: count for method, (count, _) in methods.items()}
    result = {f"{method}_us": 1e6 * min(runs[method]) / count for method, count in counts.items()}
    ratios = {
        f"{kind}_ratio": result[f"{kind}_us"] / result["graphpe_us"]
        for kind in ("pyg", "numpy")
        if kind in methods
    }
    return {**result, **ratios, "graphs": counts, "runs_s": runs}


def loop(transform: BaseTransform, graphs: list[Data]) -> list[Data]:
    return [transform(data) for data in graphs]


def single_threaded_loop(transform: BaseTransform, graphs: list[Data]) -> list[Data]:
    with single_threaded_torch(), single_threaded_blas():
        return loop(transform, graphs)


def sample(dataset: InMemoryDataset, transform: BaseTransform, wanted: float) -> list[Data]:
    """As many graphs as a loop takes about the wanted seconds for."""
    part = evenly_spaced(dataset, FEWEST_GRAPHS)
    single_threaded_loop(transform, part[:1])  # libraries load
    count = int(len(part) * wanted / seconds(lambda: single_threaded_loop(transform, part)))
    return evenly_spaced(dataset, max(count, FEWEST_GRAPHS))


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


def encode(
    dataset: InMemoryDataset, encodings: Encoding | list[Encoding], workers: int | None = None
) -> InMemoryDataset:
    return graphpe.encode(dataset, encodings, workers=workers, progress=False)


def tell(row: dict) -> None:
    ratios = {
        name: {key: round(value, 2) for key, value in row[name].items() if "ratio" in key}
        for name in ("molecules", "larger")
    }
    print(row.get("encoding") or row["group"], ratios, file=sys.stderr)


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
