"""`graphpe encodings`: the table of encodings, from what the classes declare about themselves."""

from __future__ import annotations

import dataclasses

from rich.console import Console
from rich.table import Table

from graphpe.cli.errors import fail
from graphpe.fields import Field
from graphpe.transforms import Encoding, all_encodings

_WIDTH_WITHOUT_TERMINAL = 140
_USAGE = "usage: graphpe encodings\n\nLists the encodings, the fields that each writes, their symmetry, cost and paper."
# Stands for the first required setting when fields are asked for their width; large enough to be no width itself.
_MARK = 7919


def print_encodings(options: list[str]) -> int:
    """Prints one row per field of each encoding.

    Args:
        options: The words after ``graphpe encodings``.

    Returns:
        The exit code.
    """
    if options in (["-h"], ["--help"]):
        print(_USAGE)
        return 0
    if options:
        return fail(2, f"`graphpe encodings` takes no options, but got {options[0]!r}")
    table = Table()
    for title in ("encoding", "field", "level", "width", "symmetry"):
        table.add_column(title, no_wrap=True)
    for title in ("cost", "paper"):
        table.add_column(title, overflow="fold")
    for encoding in all_encodings():
        required = _required_settings(encoding)
        marked = encoding(**{name: _MARK + number for number, name in enumerate(required)})
        signature = f"{encoding.__name__}({', '.join(required)})"
        for row, field in enumerate(marked.fields()):
            first = row == 0
            table.add_row(
                signature if first else "",
                field.name,
                field.level,
                _width(field, required),
                field.symmetry if field.symmetry != "none" else "-",
                encoding.cost if first else "",
                encoding.paper if first else "",
            )
        table.add_section()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL)
    console.print(table)
    return 0


def _required_settings(encoding: type[Encoding]) -> list[str]:
    return [
        setting.name
        for setting in dataclasses.fields(encoding)
        if setting.default is dataclasses.MISSING and setting.default_factory is dataclasses.MISSING
    ]


def _width(field: Field, required: list[str]) -> str:
    """The number of columns, or the name of the setting that it is."""
    number = field.width - _MARK
    return required[number] if 0 <= number < len(required) else str(field.width)
