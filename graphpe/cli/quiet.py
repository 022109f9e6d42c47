"""Silence about things that a user of the command line can't act on."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from graphpe.cli.errors import one_line

_NOT_FOR_USERS = (
    # Deprecated calls within Lightning.
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    r"(?s)\s*By default only one JsonargparseDeprecationWarning",
    r"(?s)\s*(``)?(ArgumentParser\.add_instantiator|instantiate_classes|skip_none)",
    # More processes that make batches cost more than they bring for graphs that are in memory.
    r"The '\w+' does not have many workers",
    # A frozen encoder stays in evaluation mode on purpose.
    r"Found \d+ module\(s\) in eval mode at the start of training",
    # Graphs that a distributed sampler repeats are counted once.
    r"Using `DistributedSampler` with the dataloaders",
)


def quieten() -> None:
    """Hides what is not for users of `graphpe`, and shows the warnings that are for them as one line."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for message in _NOT_FOR_USERS:
        warnings.filterwarnings("ignore", message=message)
    warnings.formatwarning = _one_line


def _one_line(message: Warning | str, *_: Any, **__: Any) -> str:
    return f"graphpe: warning: {one_line(str(message))}\n"
