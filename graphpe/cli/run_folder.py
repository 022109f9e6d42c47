"""The folder of a run, and the loggers that write into it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from graphpe.cli.errors import ConfigError


class _MetricsLogger(CSVLogger):
    """Writes ``metrics.csv`` alone: the settings are in ``config.yaml``."""

    def log_hyperparams(self, *_: Any, **__: Any) -> None:
        """Writes no ``hparams.yaml``."""


class _SilentLogger(_MetricsLogger):
    """Gives a run its folder, and logs nothing."""

    def log_metrics(self, *_: Any, **__: Any) -> None:
        """Writes no metrics."""

    def save(self) -> None:
        """Writes no file."""


class RunFolder:
    """A new folder ``<root>/<name>/<kind>_<N>``.

    Args:
        root: Folder of all experiments.
        name: Name of the experiment.
        kind: ``"version"`` for a training, the subcommand for an evaluation.

    Raises:
        ConfigError: If the folder can't be made.
    """

    def __init__(self, root: Path, name: str, kind: str) -> None:
        self._root, self._name = root, name
        self._new_parents = [folder for folder in (root / name, root) if not folder.exists()]
        try:
            self._version = f"{kind}_{_reserve(root / name, kind)}"
        except OSError as error:
            raise ConfigError(
                f"can't make a folder for the run in experiment.folder {str(root)!r}: {error.strerror}; "
                "give a folder that can be written"
            ) from error
        self.path = root / name / self._version

    def loggers(self, is_training: bool, is_silent: bool) -> list[Logger]:
        """Loggers that write into the folder: curves for a training, the metrics alone for an evaluation."""
        place = (self._root, self._name, self._version)
        if is_silent:
            return [_SilentLogger(*place)]
        if not is_training:
            return [_MetricsLogger(*place)]
        return [CSVLogger(*place), TensorBoardLogger(*place)]

    def remove(self) -> None:
        """Removes the folder, and those above it that were made for it."""
        if rank_zero_only.rank != 0:
            return
        shutil.rmtree(self.path)
        with suppress(OSError):  # another run has begun there
            for folder in self._new_parents:
                folder.rmdir()


def _reserve(folder: Path, kind: str) -> int:
    """The number of a new run, for which no other run has or takes a folder."""
    number = 0
    while rank_zero_only.rank == 0:  # the other processes of a run follow the first one
        try:
            (folder / f"{kind}_{number}").mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
    return number
