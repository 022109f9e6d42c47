"""Does a checkpoint fit the configured network and trainer?"""

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from lightning.pytorch import Trainer

from graphpe.cli.errors import ConfigError
from graphpe.training import GraphPredictor


def check_checkpoint(path: str | Path, model: GraphPredictor) -> None:
    """Refuses a checkpoint that can't be loaded into the model.

    Args:
        path: The checkpoint.
        model: The configured model.

    Raises:
        ConfigError: If the file is no checkpoint, or is one of another network.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)["state_dict"]
    except (OSError, RuntimeError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} is not a checkpoint of graphpe, or it is damaged") from error
    wanted = model.state_dict()
    for name in [*wanted, *saved]:
        there = saved[name].shape if name in saved else None
        needed = wanted[name].shape if name in wanted else None
        if there != needed:
            raise ConfigError(
                f"{path} is of another network: {name} is {_shape(there)} in the checkpoint and "
                f"{_shape(needed)} in the configuration; use the config.yaml beside the checkpoint's folder"
            )


def check_resumable(path: str | Path, trainer: Trainer) -> None:
    """Refuses a checkpoint from which the trainer can't go on.

    Args:
        path: A checkpoint of `check_checkpoint`.
        trainer: The trainer that resumes.

    Raises:
        ConfigError: If the checkpoint holds weights only, or has all epochs already.
    """
    saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    if "optimizer_states" not in saved:
        raise ConfigError(
            f"{Path(path).name} holds weights only; resume from {Path(path).with_name('last.ckpt')}"
        )
    if trainer.max_epochs is not None and 0 <= trainer.max_epochs <= finished_epochs(path):
        raise ConfigError(
            f"{path} is of epoch {finished_epochs(path)}, and trainer.max_epochs is {trainer.max_epochs}; "
            "raise trainer.max_epochs"
        )


def finished_epochs(path: str | Path) -> int:
    """The number of epochs that a checkpoint has been trained for."""
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)["epoch"] + 1


def _shape(shape: torch.Size | None) -> str:
    return "absent" if shape is None else str(list(shape))
