"""`graphpe encodings`: the encodings, from what the classes declare about themselves."""

from __future__ import annotations

import inspect
import re

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphpe.cli.errors import choices, fail
from graphpe.cli.widths import example, required_settings, widths
from graphpe.fields import Field
from graphpe.transforms import Encoding, PerEdgeType, To, all_encodings

_WIDTH_WITHOUT_TERMINAL = 140
_USAGE = """usage: graphpe encodings [NAME]

Lists the encodings by family: the fields that each writes, what they are free up to, cost and paper.
With the name of an encoding, prints its documentation and its fields; with a word (heat, RWSE, SPD), the encodings
that it is about."""


def print_encodings(options: list[str]) -> int:
    """Prints the table of all encodings, or all about one.

    Args:
        options: The words after ``graphpe encodings``.

    Returns:
        The exit code.
    """
    if options in (["-h"], ["--help"]):
        print(_USAGE)
        return 0
    if options and options[0].startswith("-"):
        return fail(2, f"`graphpe encodings` takes no options, but got {options[0]!r}")
    if len(options) > 1:
        return fail(2, f"`graphpe encodings` takes one name, but got {' '.join(options)}")
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL, highlight=False)
    if not options:
        console.print(_table_of_all())
        console.print("All about one: graphpe encodings NAME", markup=False)
        return 0
    by_name = {encoding.__name__: encoding for encoding in all_encodings()}
    by_name |= {wrapper.__name__: wrapper for wrapper in (To, PerEdgeType)}
    name = options[0]
    if name in by_name:
        _print_one(by_name[name], console)
        return 0
    found = [cls for cls in by_name.values() if _mentions(cls, name)]
    if not found:
        return fail(2, f"no encoding {name!r}; {choices(name, by_name)}")
    for cls in found:
        console.print(f"{cls.__name__}: {_summary(cls)}", markup=False)
    console.print("All about one: graphpe encodings NAME", markup=False)
    return 0


def _mentions(cls: type, word: str) -> bool:
    """Whether a word is in the name of a class or in its documentation, whatever the case."""
    return (
        re.search(re.escape(word), f"{cls.__name__} {inspect.getdoc(cls)}", re.IGNORECASE)
        is not None
    )


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _table_of_all() -> Table:
    """The encodings family by family, under each a row per field."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title, width in (("encoding, and what it writes", None), ("level", None), ("width", 22)):
        table.add_column(title, max_width=width, no_wrap=width is None)
    for title in ("symmetry", "cost", "paper"):
        table.add_column(title)
    families: dict[str, list[type[Encoding]]] = {}
    for encoding in all_encodings():
        families.setdefault(_family(encoding), []).append(encoding)
    for family, encodings in families.items():
        table.add_row(Text(family, style="bold"))
        for encoding in encodings:
            required = ", ".join(required_settings(encoding))
            signature = f"  {encoding.__name__}({required})"
            table.add_row(signature, "", "", "", encoding.cost, encoding.paper)
            fields = example(encoding).fields()
            for field, width in zip(fields, widths(encoding), strict=True):
                table.add_row(f"    {field.name}", field.level, width, _symmetry(field))
        table.add_section()
    return table


def _print_one(encoding: type, console: Console) -> None:
    """The signature with all defaults, the docstring, and the fields with their dtypes."""
    settings = [
        parameter.name
        if parameter.default is parameter.empty
        else f"{parameter.name}={parameter.default!r}"
        for parameter in inspect.signature(encoding).parameters.values()
    ]
    console.print(Text(f"{encoding.__name__}({', '.join(settings)})\n", style="bold"))
    console.print(inspect.getdoc(encoding), markup=False)
    if encoding in (To, PerEdgeType):  # their fields are those of the encoding in them
        return
    table = Table()
    for title in ("writes", "level", "width", "dtype", "symmetry", "categories"):
        table.add_column(title)
    for field, width in zip(example(encoding).fields(), widths(encoding), strict=True):
        table.add_row(
            field.name,
            field.level,
            width,
            str(field.dtype).removeprefix("torch."),
            _symmetry(field),
            "-" if field.categories is None else str(field.categories),
        )
    console.print()
    console.print(table)
    console.print(f"cost: {encoding.cost}\npaper: {encoding.paper}", markup=False)


def _family(encoding: type[Encoding]) -> str:
    """The name of the subpackage of `graphpe.transforms` that holds a class."""
    return encoding.__module__.split(".")[2].replace("_", " ")


def _symmetry(field: Field) -> str:
    return "-" if field.symmetry == "none" else field.symmetry
