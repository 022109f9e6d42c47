"""Training steps: graphpe's networks against stacks of PyG's layers of the same size, on the same batch.

    python experiments/speed/train_step.py --zinc data/zinc --out experiments/results/train-step.json
    python experiments/speed/train_step.py encoders --zinc data/zinc

Parts, all by default:

- ``networks``: a step (forward, backward, Adam) of 128 ZINC molecules, networks of width 64 with 4 layers and 4 heads;
- ``sizes``: those with attention on larger graphs, and on many small graphs beside a large one;
- ``layers``: one GPS layer against one ``GPSConv``, forward and backward;
- ``memory``: what a step takes of memory;
- ``encoders``: GINE with SPE at the published sizes of Huang et al. (ICLR 2024).

On one thread, all in one process, which take turns step by step. The time of a step is what the process was at work:
machines are shared. Its fastest step counts for a network; the ratio of two is the median over the turns. Prints
tables and writes them as JSON.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch
from benchmark_graphs import dataset_of
from rich.console import Console
from rich.table import Table
from step_memory import step_memory
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.datasets import ZINC
from train_step_cases import (
    ENCODINGS,
    WALKS,
    Build,
    Case,
    Size,
    attending_cases,
    encoder_cases,
    layer_cases,
    made_graphs,
    memory_cases,
    network_cases,
)

import graphpe
from graphpe.transforms import AddLaplacianEigenvectorPE

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reporting import circumstances, save_record


def main() -> None:
    arguments = parse()
    torch.set_num_threads(1)
    molecules = ZINC(arguments.zinc, subset=True, split="train")[: arguments.batch_size]
    report = {
        **circumstances(" ".join(["python", *sys.argv])),
        "batch_size": arguments.batch_size,
        "size": vars(arguments.size),
    }
    console = Console(width=120)
    for part in arguments.parts or PARTS:
        report[part] = PARTS[part](molecules, arguments)
        console.print(table_of(part, report[part]))
        if arguments.out:
            save_record(report, Path(arguments.out))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="parts to run; default: all")
    parser.add_argument("--zinc", required=True, help="root folder of PyG's ZINC")
    parser.add_argument("--steps", type=int, default=20, help="turns that count; two come before")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--out", help="JSON file to write")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; parts are {', '.join(PARTS)}")
    arguments.size = Size(arguments.channels, arguments.layers, arguments.heads)
    return arguments


def networks(molecules: ZINC, arguments: argparse.Namespace) -> list[dict]:
    encoded = graphpe.encode(molecules, list(ENCODINGS), progress=False)
    batch = Batch.from_data_list(list(encoded))
    return compare(network_cases(arguments.size, _in_degrees(batch)), batch, arguments)


def sizes(molecules: ZINC, arguments: argparse.Namespace) -> list[dict]:
    rows = []
    for name, graphs in _mixtures(molecules).items():
        batch = Batch.from_data_list(graphs)
        cases = attending_cases(arguments.size, _in_degrees(batch))
        rows += [{"batch": name, **row} for row in compare(cases, batch, arguments)]
    return rows


def layers(molecules: ZINC, arguments: argparse.Namespace) -> list[dict]:
    batch = Batch.from_data_list(list(molecules))
    cases = layer_cases(arguments.size, batch)
    return compare(cases, batch, arguments, with_optimizer=False)


def memory(molecules: ZINC, arguments: argparse.Namespace) -> list[dict]:
    rows = []
    batches = {"molecules": list(molecules), **_mixtures(molecules)}
    for batch_name, graphs in batches.items():
        walks = graphpe.encode(dataset_of(graphs), WALKS, progress=False)
        batch = Batch.from_data_list(list(walks))
        size = arguments.size
        deep, shallow = (
            _networks_of(memory_cases(replace(size, layers=layers), _in_degrees(batch)))
            for layers in (size.layers, 1)
        )
        for name, build in deep.items():
            of_one, of_all = (
                step_memory(network.train(), batch, size.channels // size.heads)
                for network in (shallow[name](), build())
            )
            of_all["kept_of_pairs_by_one_layer_mib"] = of_one["kept_of_pairs_mib"]
            rows.append({"batch": batch_name, "network": name, **of_all})
    return rows


def encoders(molecules: ZINC, arguments: argparse.Namespace) -> list[dict]:
    rows = []
    for name, (k, network) in encoder_cases().items():
        encoding = AddLaplacianEigenvectorPE(k, drop_trivial="none")
        batch = Batch.from_data_list(list(graphpe.encode(molecules, encoding, progress=False)))
        case = {name: Case(lambda network=network: network)}
        rows += compare(case, batch, arguments)
    return rows


PARTS: dict[str, Callable[[ZINC, argparse.Namespace], list[dict]]] = {
    "networks": networks,
    "sizes": sizes,
    "layers": layers,
    "memory": memory,
    "encoders": encoders,
}


def compare(
    cases: Mapping[str, Case],
    batch: Batch,
    arguments: argparse.Namespace,
    with_optimizer: bool = True,
) -> list[dict]:
    """A row for each network or layer, those of PyG after the one that they are compared with."""
    rows = []
    for name, case in cases.items():
        times = _take_turns(case, batch, arguments.steps, with_optimizer)
        ours, _ = times[""]
        for other, (seconds, parameters) in times.items():
            row = {
                "network": other or name,
                "parameters": parameters,
                "milliseconds": 1e3 * min(step[0] for step in seconds),
                "graphs_per_second": batch.num_graphs / min(step[0] for step in seconds),
                "wall_milliseconds": 1e3 * min(step[1] for step in seconds),
            }
            if other:
                pairs = zip(seconds, ours, strict=True)
                row["ratio"] = median(theirs[0] / own[0] for theirs, own in pairs)
            rows.append(row)
    return rows


def _take_turns(
    case: Case, batch: Batch, steps: int, with_optimizer: bool
) -> dict[str, tuple[list[tuple[float, float]], int]]:
    """Seconds at work and by the clock of each step, and number of parameters; that of graphpe has no name."""
    contestants = {}
    for name, build in {"": case.ours, **case.theirs}.items():
        torch.manual_seed(0)
        network = build().train()
        contestants[name] = network, torch.optim.Adam(network.parameters(), lr=1e-3)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(steps + 2):
        for name, (network, optimizer) in contestants.items():
            clock, work = time.perf_counter(), time.process_time()
            step(network, batch, optimizer if with_optimizer else None)
            seconds[name].append((time.process_time() - work, time.perf_counter() - clock))
    return {
        name: (seconds[name][2:], sum(p.numel() for p in network.parameters()))
        for name, (network, _) in contestants.items()
    }


def step(network: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer | None) -> None:
    """Forward, backward and update; the mean absolute output stands for the loss."""
    network.zero_grad()
    network(batch).abs().mean().backward()
    if optimizer is not None:
        optimizer.step()


def _mixtures(molecules: ZINC) -> dict[str, list[Data]]:
    """Larger graphs, and many small graphs beside a large one."""
    return {
        "16 graphs of 100 to 190": made_graphs(range(100, 196, 6)),
        "63 molecules, 1 of 390": [*list(molecules)[:63], *made_graphs([390])],
    }


def _networks_of(cases: Mapping[str, Case]) -> dict[str, Build]:
    return {
        name: build
        for own, case in cases.items()
        for name, build in {own: case.ours, **case.theirs}.items()
    }


def _in_degrees(batch: Batch) -> torch.Tensor:
    return torch.bincount(torch.bincount(batch.edge_index[1], minlength=batch.num_nodes))


COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "parameters": ("parameters", "{:,}".format),
    "milliseconds": ("step", "{:.1f} ms".format),
    "graphs_per_second": ("graphs per second", "{:,.0f}".format),
    "ratio": ("PyG / graphpe", "{:.2f}".format),
    "kept_mib": ("kept for backward", "{:.1f} MiB".format),
    "kept_of_pairs_mib": ("of pairs", "{:.1f} MiB".format),
    "kept_of_pairs_by_one_layer_mib": ("with 1 layer", "{:.1f} MiB".format),
    "peak_mib": ("peak of a step", "{:.1f} MiB".format),
}


def table_of(part: str, rows: list[dict]) -> Table:
    """The rows of a part; those of PyG are indented."""
    table = Table(title=part)
    columns = {key: column for key, column in COLUMNS.items() if any(key in row for row in rows)}
    texts = [key for key in ("batch", "network") if key in rows[0]]
    for key in texts:
        table.add_column(key)
    for heading, _ in columns.values():
        table.add_column(heading, justify="right")
    for row in rows:
        numbers = [show(row[key]) if key in row else "" for key, (_, show) in columns.items()]
        table.add_row(*(row[key] for key in texts), *numbers)
    return table


if __name__ == "__main__":
    main()
