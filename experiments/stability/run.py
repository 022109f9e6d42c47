"""Measures how much the outputs of encoders change when graphs change a little.

    python -m experiments.stability.run
    python -m experiments.stability.run --zinc data/zinc --seeds 0 1 2 --only spe sign-net

Run it in the root of the repository. Encoders are untrained: what is measured is that of random weights, by several
seeds. Results are added to ``experiments/results/stability.json`` as they come, and what is there is not repeated. At
the end the tables and figures of ``docs/stability.md`` are made anew.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from experiments.reporting import RESULTS, circumstances, save_record
from experiments.stability.encoders import CASES
from experiments.stability.graphs import jittered, molecules, random_graphs, without_an_edge
from experiments.stability.measure import GAP_BINS, Subject, changes_of_output, summary
from experiments.stability.report import update_page

EPSILONS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
CUT = 8


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--zinc", type=Path, help="folder of ZINC, in place of ogbg-molesol")
    parser.add_argument("--graphs", type=int, default=300, help="graphs of each kind")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--record", type=Path, default=RESULTS / "stability.json")
    arguments = parser.parse_args(words)
    torch.set_num_threads(1)
    settings = {
        "molecules": "ogbg-molesol" if arguments.zinc is None else "ZINC-12k",
        "graphs": arguments.graphs,
        "seeds": arguments.seeds,
        "epsilons": list(EPSILONS),
        "cut": CUT,
        "gap_bins": list(GAP_BINS),
    }
    record = opened(arguments.record, settings)
    for kind, graphs in {
        "molecules": molecules(arguments.graphs, arguments.zinc),
        "random": random_graphs(arguments.graphs),
    }.items():
        changes = {f"{epsilon:g}": jittered(graphs, epsilon) for epsilon in EPSILONS}
        changes["edge removed"] = without_an_edge(graphs)
        for k in (CUT, None):
            todo = [name for name in arguments.only if key(kind, k, name) not in record["results"]]
            subject = Subject(graphs, changes, k)
            found_gaps, distances = subject.gaps(), subject.distances()
            for name in todo:
                start = time.perf_counter()
                found = changes_of_output(CASES[name], subject, arguments.seeds)
                seconds = round(time.perf_counter() - start, 1)
                record["results"][key(kind, k, name)] = {
                    "seconds": seconds,
                    # None: the output is the same for all nodes.
                    "changes": found and summary(found, distances, found_gaps),
                }
                save_record(record, arguments.record)
                print(f"{key(kind, k, name)}: {seconds} s", flush=True)
    if arguments.record == RESULTS / "stability.json":
        update_page()


def key(kind: str, k: int | None, name: str) -> str:
    return f"{kind}, {'all' if k is None else k}, {name}"


def opened(path: Path, settings: dict) -> dict:
    """The record in a file, or a new one.

    Raises:
        SystemExit: If the file was made with other settings.
    """
    if not path.exists():
        command = "python -m experiments.stability.run"
        return {**circumstances(command), "settings": settings, "results": {}}
    record = json.loads(path.read_text())
    if record["settings"] != settings:
        raise SystemExit(
            f"{path} is of other settings, {record['settings']}; remove it, or give --record another name"
        )
    return record


if __name__ == "__main__":
    main()
