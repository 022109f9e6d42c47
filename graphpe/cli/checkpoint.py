"""Does a checkpoint fit the configured network?"""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

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


def _shape(shape: torch.Size | None) -> str:
    return "absent" if shape is None else str(list(shape))
