"""Errors of the command line: one line on stderr that says what to do."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable


class ConfigError(Exception):
    """The command line or a configuration is wrong; the message is one line."""


def fail(code: int, message: str) -> int:
    """Prints a message as one line on stderr and returns the exit code."""
    print(f"graphpe: error: {one_line(message)}", file=sys.stderr)
    return code


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
    raised_at = error.__traceback__
    while raised_at is not None and raised_at.tb_next is not None:
        raised_at = raised_at.tb_next
    module = raised_at.tb_frame.f_globals.get("__name__", "") if raised_at is not None else ""
    return isinstance(error, ValueError | TypeError) and module.partition(".")[0] == "graphpe"
