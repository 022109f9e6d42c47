"""Small graphs and networks that the tests of training share."""

from __future__ import annotations

from typing import Literal

import torch
from lightning.pytorch import Trainer
from torch_geometric.data import Data

from graphpe.nn import GINE, FieldEncoder
from graphpe.tasks import Features, Task

FEATURES = Features(node_categories=(4,))
REGRESSION = Task(kind="regression", metric="rmse", loss="mse")


def cycles(count: int, *, seed: int = 0) -> list[Data]:
    """Cycles of 3 to 8 nodes with categories; the target is the mean category."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(count):
        n = int(torch.randint(3, 9, (1,), generator=generator))
        x = torch.randint(0, 4, (n, 1), generator=generator)
        step = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        graphs.append(
            Data(
                x=x,
                edge_index=torch.cat([step, step.flip(0)], dim=1),
                y=x.float().mean().view(1, 1),
            )
        )
    return graphs


def network(
    task: Task = REGRESSION,
    encoders: list[FieldEncoder] | None = None,
    norm: Literal["batch", "layer"] = "layer",
) -> GINE:
    """A network of a few hundred parameters."""
    return GINE(
        FEATURES,
        task.out_channels,
        hidden_channels=8,
        num_layers=1,
        norm=norm,
        positional_encoders=encoders,
    )


def quiet_trainer(folder: object, **settings: object) -> Trainer:
    """A trainer on one CPU that draws nothing."""
    settings = {
        "max_epochs": 2,
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "log_every_n_steps": 1,
        "default_root_dir": folder,
        **settings,
    }
    return Trainer(**settings)
