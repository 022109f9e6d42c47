"""The argument parser, whose errors are one line."""

from __future__ import annotations

import re
from typing import NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from graphpe.cli.errors import ConfigError, choices


class OneLineParser(LightningArgumentParser):
    """A parser that raises a `ConfigError` where its base class prints its usage and exits."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        unknown = re.search(r"Option '([^']+)' is not accepted", message)
        if unknown:
            valid = {action.dest for action in self._actions if "." not in action.dest} - {"help"}
            message = f"no key {unknown[1]!r}; {choices(unknown[1], valid)}"
        raise ConfigError(essence(message)) from ex


def essence(message: str) -> str:
    """What a user needs of a message of jsonargparse."""
    # A value fits none of several types: the reason for each type but None.
    reasons = re.search(r"Errors:\n(.*?)\n\s*Given value type", message, re.DOTALL)
    if reasons:
        listed = re.split(r"\n\s*- ", "\n" + reasons[1])[1:]
        useful = [reason for reason in listed if "NoneType" not in reason]
        key = re.match(r'Parser key "[^"]+":', message)
        message = (f"{key[0]} " if key else "") + "; ".join(useful or listed)
    message = re.sub(r"Call to compute_fn of link .*? failed: ", "", message, flags=re.DOTALL)
    message = re.sub(r'Parser key "([^"]+)":', r"\1:", message)
    message = re.sub(r"<class '([\w.]+)'>", r"\1", message)
    message = re.sub(r"\b(fit|validate|test|predict)\.(model|data|trainer|task)", r"\2", message)
    return " ".join(message.split())
