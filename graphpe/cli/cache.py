"""`graphpe cache`: lists, verifies and removes what a cache of encodings holds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.prompt import Confirm
from rich.table import Table
from rich.text import Text

from graphpe.cli.errors import ConfigError, choices, fail
from graphpe.cli.quiet import quieten
from graphpe.precompute.cache.contents import Contents, StoredDataset, StoredEntry, Workspace
from graphpe.precompute.cache.removal import Removed, remove

_USAGE = """usage: graphpe cache COMMAND --cache-dir DIR [options]

commands:
  list     list the entries: which encodings of which datasets, how large, and whether they are complete
  verify   read all shards and compare their checksums; the exit code is 1 if something is damaged
  remove   remove entries, what killed processes left, or all

  graphpe cache list --cache-dir DIR [--long]
  graphpe cache verify --cache-dir DIR [ENTRY ...]
  graphpe cache remove --cache-dir DIR (ENTRY ... | --incomplete | --all) [--yes]

ENTRY is the class of an encoding (AddRandomWalkPE: all its entries), the name of an entry (AddRandomWalkPE-1f0c92ab) or
its beginning if no other begins so, or the first digits of the fingerprint of a dataset (all its entries)."""
_ENTRY_HELP = (
    "class of an encoding, name of an entry, or fingerprint of a dataset; see graphpe cache --help"
)

_WIDTH_WITHOUT_TERMINAL = 400
# Of fingerprints and keys; the command takes as few as tell entries apart.
_DIGITS = 8
_MANY = 10


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see {self.prog} --help")


def run_cache(options: list[str]) -> int:
    """Lists, verifies or removes what a cache holds.

    Args:
        options: The words after ``graphpe cache``.

    Returns:
        The exit code: 0; 1 if something is damaged or was not removed; 2 if the command line is wrong or the folder is
        not a cache.
    """
    quieten()
    if not options or options[0] in ("-h", "--help"):
        print(_USAGE)
        return 0
    command, *rest = options
    if command not in _COMMANDS:
        return fail(2, f"no command 'cache {command}'; {choices(command, _COMMANDS)}")
    try:
        return _COMMANDS[command](_parse(command, rest))
    except ConfigError as error:
        return fail(2, str(error))


def _parse(command: str, options: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog=f"graphpe cache {command}", allow_abbrev=False)
    parser.add_argument(
        "--cache-dir",
        "--cache_dir",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder of the cache",
    )
    if command == "list":
        parser.add_argument(
            "--long",
            action="store_true",
            help="whole fingerprints and keys, and the versions that computed the values",
        )
    else:
        parser.add_argument("entries", nargs="*", metavar="ENTRY", help=_ENTRY_HELP)
    if command == "remove":
        parser.add_argument(
            "--incomplete",
            action="store_true",
            help="entries without a manifest, and what killed processes left",
        )
        parser.add_argument("--all", action="store_true", help="all entries")
        parser.add_argument("--yes", action="store_true", help="don't ask")
    return parser.parse_intermixed_args(options)


def _list(arguments: argparse.Namespace) -> int:
    contents = _contents(arguments.cache_dir)
    console = _console()
    entries = contents.entries
    if entries:
        console.print(_table(contents, arguments.long))
        size = decimal(sum(entry.bytes for entry in entries))
        _say(console, f"{_count(len(entries), 'entry', 'entries')}, {size}")
    else:
        _say(console, f"{contents.folder} holds no encodings")
    for entry in entries:
        if entry.damage is not None:
            _say(console, entry.damage)
    left = [each for entry in entries for each in entry.workspaces]
    for process, text in (
        ("gone", "left by killed processes: {}; graphpe cache remove --incomplete removes it"),
        ("elsewhere", "being written, or left by killed processes, on other machines: {}"),
    ):
        own = [each for each in left if each.process == process]
        if own:
            _say(console, text.format(_folders(own)))
    foreign = [*contents.foreign, *(path for each in contents.datasets for path in each.foreign)]
    foreign += [path for entry in entries for path in entry.foreign]
    if foreign:
        _say(console, f"not of the cache: {_some(map(str, foreign))}")
    return 0


def _table(contents: Contents, long: bool) -> Table:
    """The entries dataset by dataset."""
    digits = None if long else _DIGITS
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("dataset, entries, encodings", overflow="fold")
    for title in ("shards", "size", "failed"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    table.add_column("written", no_wrap=True)
    if long:
        table.add_column("versions", overflow="fold")
    for dataset in contents.datasets:
        table.add_row(Text(f"{dataset.fingerprint[:digits]}  {_graphs(dataset)}", style="bold"))
        for entry in dataset.entries:
            lines = [f"  {entry.encoding_class}-{entry.key[:digits]}"]
            versions: dict[str, str] = {}
            if entry.manifest is not None:
                lines.append(f"    {entry.manifest.encoding}")
                versions = entry.manifest.versions
            table.add_row(
                Text("\n".join(lines)),
                f"{len(entry.receipts):,}",
                decimal(entry.bytes),
                f"{entry.num_failed:,}",
                _state(entry),
                f"{datetime.fromtimestamp(entry.written):%Y-%m-%d %H:%M}",
                *([Text(", ".join(f"{name} {of}" for name, of in versions.items()))] * long),
            )
        table.add_section()
    return table


def _graphs(dataset: StoredDataset) -> str:
    if dataset.num_graphs is not None:
        return _count(dataset.num_graphs, "graph")
    return f"at least {_count(dataset.num_graphs_seen, 'graph')}"


def _state(entry: StoredEntry) -> str:
    if entry.state == "incomplete":
        return f"incomplete: {_count(len(entry.receipts), 'shard')} so far"
    wrong = sum(reason is not None for _, reason in entry.faults(content=False))
    return f"{_count(wrong, 'shard')} damaged" if wrong else entry.state


def _verify(arguments: argparse.Namespace) -> int:
    contents = _contents(arguments.cache_dir)
    entries = [
        entry for dataset in _chosen(contents, arguments.entries) for entry in dataset.entries
    ]
    console = _console()
    shards = sum(len(entry.receipts) for entry in entries)
    size = sum(receipt.bytes for entry in entries for receipt in entry.receipts)
    damaged = 0
    errors = Console(stderr=True)
    columns = (TextColumn("Verifying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=size)
        for entry in entries:
            if entry.damage is not None:
                damaged += 1
                _say(console, entry.damage)
            for receipt, reason in entry.faults(content=True):
                progress.advance(task, receipt.bytes)
                if reason is not None:
                    damaged += 1
                    _say(console, reason)
    read = f"{_count(shards, 'shard')} of {_count(len(entries), 'entry', 'entries')}"
    if damaged:
        return fail(
            1,
            f"{_count(damaged, 'file')} damaged or not readable, among {read}; graphpe encode --verify, or "
            "encode(..., verify=True), computes them anew",
        )
    _say(console, f"verified {read}, {decimal(size)}: all are as they were written")
    incomplete = sum(entry.state == "incomplete" for entry in entries)
    if incomplete:
        which = _count(incomplete, "entry", "entries")
        _say(console, f"{which} incomplete; the next encode goes on with what lacks")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    if sum((bool(arguments.entries), arguments.incomplete, arguments.all)) != 1:
        raise ConfigError(
            "say what to remove with one of ENTRY ..., --incomplete and --all; see graphpe cache remove --help"
        )
    contents = _contents(arguments.cache_dir)
    chosen = _incomplete(contents) if arguments.incomplete else _chosen(contents, arguments.entries)
    console = _console()
    if not chosen:
        _say(console, f"nothing to remove in {contents.folder}")
        return 0
    _show(console, chosen, arguments.incomplete)
    if not arguments.yes and not _confirmed(console):
        _say(console, "nothing is removed")
        return 1
    names = {entry.folder for dataset in chosen for entry in dataset.entries}

    def goes(entry: StoredEntry) -> bool:
        # One that was incomplete may have been finished while this process waited.
        return entry.folder in names and not (arguments.incomplete and entry.state != "incomplete")

    try:
        removed = [remove(dataset.folder, goes, arguments.incomplete) for dataset in chosen]
    except ValueError as error:
        return fail(1, str(error))
    _report(console, removed)
    return 0


def _incomplete(contents: Contents) -> list[StoredDataset]:
    """Where --incomplete removes something: also entries that stay without their leftovers, and empty datasets."""
    found = [
        replace(
            dataset,
            entries=tuple(
                entry for entry in dataset.entries if entry.state == "incomplete" or entry.leftovers
            ),
        )
        for dataset in contents.datasets
    ]
    return [
        chosen
        for chosen, dataset in zip(found, contents.datasets, strict=True)
        if chosen.entries or not dataset.entries
    ]


def _show(console: Console, chosen: Sequence[StoredDataset], incomplete: bool) -> None:
    """Prints what is to go, and its size."""
    total = 0
    _say(console, "to be removed:")
    for dataset in chosen:
        if not dataset.entries:
            _say(console, f"  {dataset.fingerprint[:_DIGITS]}  no entries")
        for entry in dataset.entries:
            size = sum(each.bytes for each in entry.leftovers)
            if incomplete and entry.state != "incomplete":
                what = f"only what killed processes left, {_folders(entry.leftovers)}"
            else:
                size += entry.bytes
                what = f"{entry.state}, {_count(len(entry.receipts), 'shard')}, {decimal(size)}"
            total += size
            name = f"{entry.encoding_class}-{entry.key[:_DIGITS]}"
            _say(console, f"  {dataset.fingerprint[:_DIGITS]}  {name}  {what}")
    _say(console, f"together {decimal(total)}")


def _confirmed(console: Console) -> bool:
    if not sys.stdin.isatty():
        raise ConfigError("there is no terminal on which to confirm this; add --yes to remove it")
    try:
        return Confirm.ask("Remove this?", console=console, default=False)
    except EOFError:
        return False


def _report(console: Console, removed: Sequence[Removed]) -> None:
    """Prints what was removed, and what was not."""
    entries = sum(each.entries for each in removed)
    left = sum(each.workspaces for each in removed)
    parts = [_count(entries, "entry", "entries")] if entries or not left else []
    parts += [_count(left, "folder") + " of killed processes"] if left else []
    _say(console, f"removed {' and '.join(parts)}, {decimal(sum(each.bytes for each in removed))}")
    for path in (path for each in removed for path in each.foreign):
        _say(console, f"left {path}, which is not of the cache")
    for path in (path for each in removed for path in each.busy):
        _say(console, f"left {path}, where a process is at work")


def _contents(folder: Path) -> Contents:
    try:
        return Contents.read(folder)
    except ValueError as error:
        raise ConfigError(f"--cache-dir: {error}") from error


def _chosen(contents: Contents, names: Sequence[str]) -> list[StoredDataset]:
    """The datasets that are named, with those of their entries that are; without names all."""
    if not names:
        return list(contents.datasets)
    folders = set().union(*(_named(contents, name) for name in names))
    found = []
    for dataset in contents.datasets:
        entries = tuple(entry for entry in dataset.entries if entry.folder in folders)
        if dataset.folder in folders:
            found.append(dataset)
        elif entries:
            found.append(replace(dataset, entries=entries))
    return found


def _named(contents: Contents, name: str) -> set[Path]:
    """The folders of the entries or of the dataset that a word stands for."""
    of_class = {entry.folder for entry in contents.entries if entry.encoding_class == name}
    if of_class:
        return of_class
    found = [each.folder for each in contents.datasets if each.fingerprint.startswith(name)]
    found += [entry.folder for entry in contents.entries if entry.folder.name.startswith(name)]
    if len(found) == 1:
        return set(found)
    if found:
        fitting = _some(folder.name for folder in found)
        raise ConfigError(f"{name!r} fits {len(found)}: {fitting}; write more of the name")
    valid = {entry.encoding_class for entry in contents.entries}
    valid |= {dataset.fingerprint[:_DIGITS] for dataset in contents.datasets}
    if not valid:
        raise ConfigError(f"no entry {name!r}: {contents.folder} holds no encodings")
    raise ConfigError(f"no entry {name!r} in {contents.folder}; {choices(name, valid)}")


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL, highlight=False)
    return console


def _say(console: Console, line: str) -> None:
    """Prints a line that is not broken, so that paths in it can be copied."""
    console.print(line, markup=False, soft_wrap=True)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _folders(workspaces: Sequence[Workspace]) -> str:
    size = decimal(sum(each.bytes for each in workspaces))
    return f"{_count(len(workspaces), 'folder')}, {size}"


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MANY:,} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "verify": _verify,
    "remove": _remove,
}
