"""What can be configured: the sections of a configuration, and how one section fills in another."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from lightning.pytorch import Trainer
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from graphpe.cli.check import Group
from graphpe.data import Baseline, DatasetCard, GraphDataModule
from graphpe.tasks import Features, Task
from graphpe.training import GraphPredictor

# Keys that take their value from another one.
LINKED = {
    "model.task": "task",
    "model.evaluator": "data.dataset",
    "model.network.init_args.features": "features",
    "model.network.init_args.out_channels": "task",
    "model.network.init_args.level": "task",
    "data.features": "features",
    "data.seed": "seed_everything",
}


@dataclass(frozen=True)
class Experiment:
    """The name of an experiment, where its runs go, how it uses the CPU, and what to compare it with.

    Args:
        name: Runs go to ``<folder>/<name>/version_<N>``.
        folder: Folder of all experiments.
        threads: Threads of PyTorch's CPU kernels in each process; None takes PyTorch's default, all cores. Batches of
            small graphs are often fastest with 1, and on a busy machine more threads wait for each other.
        baselines: Results that the summary shows beside the run, before those of the dataset's card.
    """

    name: str = "experiment"
    folder: Path = Path("runs")
    threads: int | None = None
    baselines: tuple[Baseline, ...] = ()

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(
                f"experiment.threads is {self.threads}; it must be at least 1, or null"
            )


def add_arguments(parser: LightningArgumentParser) -> None:
    """Adds the sections that LightningCLI doesn't have, and the links of `LINKED`."""
    parser.add_class_arguments(Experiment, "experiment")
    parser.add_argument(
        "--card", type=DatasetCard | None, default=None, help="Documentation of the dataset."
    )
    parser.add_class_arguments(Task, "task")
    parser.add_class_arguments(Features, "features")
    for field in fields(Task):
        parser.link_arguments(f"task.{field.name}", f"model.task.{field.name}")
    network = "model.network.init_args"
    parser.link_arguments("task", f"{network}.out_channels", compute_fn=_out_channels)
    parser.link_arguments("task.level", f"{network}.level")
    parser.link_arguments("features", f"{network}.features")
    parser.link_arguments("features", "data.features")
    parser.link_arguments("data.dataset", "model.evaluator", compute_fn=_ogb_name)
    parser.link_arguments("seed_everything", "data.seed", compute_fn=int)


def sections(command: str) -> dict[str, Any]:
    """What the top-level keys of a configuration are."""
    method = inspect.signature(getattr(Trainer, command)).parameters
    not_given = LightningCLI.subcommands()[command] | {"self"}
    return {
        "card": DatasetCard,
        "task": Group(Task),
        "features": Group(Features),
        "data": Group(GraphDataModule),
        "model": Group(GraphPredictor),
        "trainer": Group(Trainer),
        "experiment": Group(Experiment),
        "seed_everything": int | bool,
        **{name: Any for name in method if name not in not_given},
    }


def _out_channels(task: Namespace) -> int:
    if task.kind is None:
        raise ValueError(
            "task.kind is not given; add the card of a dataset, such as --config datasets/zinc.yaml"
        )
    return Task(**task.as_dict()).out_channels


def _ogb_name(dataset: Namespace | None) -> str | None:
    """The dataset's name if it is one of OGB, which has an official evaluator."""
    if dataset is None or dataset.class_path.rpartition(".")[2] != "OGBSource":
        return None
    return dataset.get("init_args.name")
