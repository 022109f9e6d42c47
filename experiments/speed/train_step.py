"""Time and memory of one SPE training step at the published ZINC sizes.

    python experiments/speed/train_step.py --zinc data/zinc

The networks are those of Huang et al. (ICLR 2024): GINE of 4 layers and width 128, with SPE of 8 eigenvectors
(``SPE-8``) or all of them (``SPE-full``), 8 layers and width 128 in ρ; batches of 128 molecules, Adam.
Prints a table and writes it as JSON. The fastest of ``--steps`` steps counts: machines are shared.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Batch
from torch_geometric.datasets import ZINC
from torch_geometric.loader import DataLoader

import graphpe
from graphpe.nn import GINE, SPE
from graphpe.precompute.encode import available_cores
from graphpe.transforms import AddLaplacianEigenvectorPE

FEATURES = graphpe.Features(node_categories=(28,), edge_categories=(4,))


def networks() -> dict[str, tuple[int, torch.nn.Module]]:
    """Name → number of eigenvectors and network."""
    without = GINE(FEATURES, hidden_channels=128, num_layers=4)
    spe_8 = SPE(k=8, out_channels=128, num_filters=6, phi="deepsets", phi_layers=4)
    spe_full = SPE(k=37, out_channels=128, num_filters=16, phi="mlp")
    return {
        "no encoding": (8, without),
        "SPE-8": (
            8,
            GINE(FEATURES, hidden_channels=128, num_layers=4, positional_encoders=[spe_8]),
        ),
        "SPE-full": (
            37,
            GINE(FEATURES, hidden_channels=128, num_layers=4, positional_encoders=[spe_full]),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--zinc", required=True, help="root folder of PyG's ZINC")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", help="JSON file to write")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    dataset = ZINC(arguments.zinc, subset=True, split="train")
    rows = [
        {"network": name} | measure(dataset, k, network, arguments)
        for name, (k, network) in networks().items()
    ]
    report = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.date.today().isoformat(),
        "cores": available_cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "device": arguments.device,
        "torch": torch.__version__,
        "batch_size": arguments.batch_size,
        "rows": rows,
    }
    show(report)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(report, indent=2) + "\n")


def measure(dataset: ZINC, k: int, network: torch.nn.Module, arguments: argparse.Namespace) -> dict:
    graphs = graphpe.encode(
        dataset[: arguments.batch_size],
        AddLaplacianEigenvectorPE(k, drop_trivial="none"),
        progress=False,
    )
    batch = next(iter(DataLoader(graphs, batch_size=arguments.batch_size))).to(arguments.device)
    network = network.to(arguments.device).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    times = [step(network, optimizer, batch) for _ in range(arguments.steps + 1)][1:]
    return {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "seconds_per_step": min(times),
        "graphs_per_second": arguments.batch_size / min(times),
        "seconds_per_epoch_of_10000": 10_000 / arguments.batch_size * min(times),
        "runs": times,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def step(network: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.l1_loss(network(batch)[:, 0], batch.y)
    loss.backward()
    optimizer.step()
    loss.item()  # waits for the device
    return time.perf_counter() - start


def show(report: dict) -> None:
    table = Table(
        title=f"One training step of {report['batch_size']} ZINC molecules, "
        f"{report['threads']} threads on {report['cores']} cores"
    )
    for column in (
        "network",
        "parameters",
        "step",
        "molecules per second",
        "epoch of 10,000",
        "peak memory",
    ):
        table.add_column(column, justify="left" if column == "network" else "right")
    for row in report["rows"]:
        table.add_row(
            row["network"],
            f"{row['parameters']:,}",
            f"{row['seconds_per_step']:.3f} s",
            f"{row['graphs_per_second']:,.0f}",
            f"{row['seconds_per_epoch_of_10000']:.0f} s",
            f"{row['peak_memory_mib']:,.0f} MiB",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
