"""Errors of the command line: one line on stderr that says what to do."""

from __future__ import annotations

import difflib
import os
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path


class ConfigError(Exception):
    """The command line or a configuration is wrong; the message is one line."""


def fail(code: int, message: str, in_every_process: bool = False) -> int:
    """Prints a message as one line on stderr, leaves a distributed run, and returns the exit code.

    Args:
        code: The exit code.
        message: What is wrong, and what to do.
        in_every_process: Whether all processes of a distributed run print it, and not the first one only.
    """
    if in_every_process or is_first_process():
        print(f"graphpe: error: {one_line(message)}", file=sys.stderr)
    _leave_process_group()
    return code


def _leave_process_group() -> None:
    """Ends the threads of a distributed run, which would abort the process if they were still there at its end."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def is_first_process() -> bool:
    """Whether this is the first process of a distributed run, or the only one."""
    return os.environ.get("LOCAL_RANK", "0") == "0"


def one_line(message: str) -> str:
    """The message without line breaks."""
    return " ".join(message.split())


def choices(name: str, valid: Iterable[str]) -> str:
    """What to say about a wrong name: the nearest valid one, and all valid ones."""
    valid = sorted(valid)
    nearest = difflib.get_close_matches(name, valid, n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"{hint}valid: {', '.join(valid)}"


def is_for_user(error: Exception) -> bool:
    """Whether an error is about what the user gave, and not a fault of a program that needs a traceback.

    These are the errors that graphpe raises itself, and Lightning's about settings of the trainer.
    """
    from lightning.pytorch.utilities.exceptions import MisconfigurationException

    if isinstance(error, MisconfigurationException):
        return True
    return isinstance(error, ValueError | TypeError) and _is_ours(error)


def _is_ours(error: Exception) -> bool:
    """Whether an error was raised by graphpe, in this process or in one that gives its traceback as text."""
    elsewhere = re.findall(r'File "(.+)", line', getattr(error.__cause__, "tb", ""))
    if elsewhere:
        return Path(__file__).parents[1] in Path(elsewhere[-1]).parents
    raised_at = error.__traceback__
    while raised_at is not None and raised_at.tb_next is not None:
        raised_at = raised_at.tb_next
    module = raised_at.tb_frame.f_globals.get("__name__", "") if raised_at is not None else ""
    return module.partition(".")[0] == "graphpe"


def is_of_one_batch(error: Exception) -> bool:
    """Whether an error is of a batch, which only one process of a distributed run may have."""
    return any(frame.name.endswith("_step") for frame in traceback.extract_tb(error.__traceback__))
