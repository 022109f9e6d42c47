"""Checks a configuration without running it, and fills in its defaults."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from graphpe.cli.errors import ConfigError
from graphpe.cli.experiment import ExperimentCLI


class _Check(ExperimentCLI):
    """Builds all that a training needs, and trains nothing."""

    def _run_subcommand(self, subcommand: str) -> None:
        pass


def resolve(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of `graphpe fit` with all defaults.

    Args:
        config: The configuration.

    Raises:
        ValueError: If `graphpe fit` would refuse it, or the graphs would lack a field that an encoder reads.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each training gives its own
        path = Path(folder) / "config.yaml"
        path.write_text(yaml.safe_dump(dict(config)))
        try:
            checked = _Check("fit", ["--config", str(path)])
        except ConfigError as error:
            raise ValueError(str(error)) from error
    _check_fields(checked)
    parser = checked._subcommand_parsers["fit"]
    text = parser.dump(checked.config["fit"], skip_none=False, skip_link_targets=True)
    return yaml.safe_load(text)


def _check_fields(checked: ExperimentCLI) -> None:
    # Sources of others may load graphs that were encoded before, whose fields aren't known yet.
    if type(checked.datamodule.dataset).__module__.partition(".")[0] == "graphpe":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checked.model.network.check_fields(checked.datamodule.fields)
