"""The argument parser, whose errors are one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from lightning.pytorch.cli import LightningArgumentParser

from graphpe.cli.errors import ConfigError, choices


class OneLineParser(LightningArgumentParser):
    """A parser that raises a `ConfigError` where its base class prints its usage and exits."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        unknown = re.search(r"Option '([^']+)' is not accepted", message)
        if unknown:
            valid = {action.dest for action in self._actions if "." not in action.dest} - {
                "help",
                "print_shtab",
            }
            message = f"no key {unknown[1]!r}; {choices(unknown[1], valid)}"
        raise ConfigError(essence(message) + _remedy(message)) from ex


def with_whole_key(message: str, options: Sequence[str]) -> str:
    """The message of an unknown key, with the option of the command line in place of its last part."""
    unknown = re.match(r"([\w.]+: )?no key '(\w+)'", message)
    names = [option.removeprefix("--").partition("=")[0] for option in options]
    whole = [name for name in names if unknown and name.endswith(f".{unknown[2]}")]
    return f"no key {whole[0]!r}{message[unknown.end() :]}" if unknown and whole else message


def _remedy(message: str) -> str:
    """What to do about a message of the parser that doesn't say it."""
    if "are required" in message and "model.network" in message:
        return "; add an experiment such as --config experiments/zinc/spe.yaml"
    if "data.dataset" in message and ("are required" in message or "value: None" in message):
        return "; add the card of a dataset such as --config datasets/zinc.yaml"
    if "nrecognized arguments" in message:
        return "; write options as --NAME VALUE, and configurations as --config FILE"
    return ""


# The files of a run in their order: each may leave out the class that one before it has named.
_ORDER = "give the dataset's card first, then the experiment, then the encoding"


def essence(message: str) -> str:
    """What a user needs of a message of jsonargparse."""
    classless = re.search(
        r'"?(?:\w+\.)?(data\.dataset|model\.network)"?:.*Got value: {\'init_args\'',
        message,
        re.DOTALL,
    )
    if classless:
        return f"{classless[1]} has init_args, but no file or option before says its class_path; {_ORDER}"
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
