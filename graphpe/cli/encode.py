"""`graphpe encode`: computes encodings of a dataset into a cache."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ActionConfigFile
from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

import graphpe.transforms  # noqa: F401  # short class names in configurations resolve to imported classes
from graphpe.checks import require_positive_integer
from graphpe.cli.check import Group, arguments_of, check_names, read_options
from graphpe.cli.configuration import sections
from graphpe.cli.errors import ConfigError, fail, is_for_user
from graphpe.cli.parser import OneLineParser, essence, with_whole_key
from graphpe.cli.quiet import quieten
from graphpe.data import GraphDataModule
from graphpe.data.sources import GraphSource
from graphpe.files import one_line
from graphpe.precompute import CacheReport, Share, fill_cache
from graphpe.precompute.cache.manifest import NAME
from graphpe.precompute.computing import OnError
from graphpe.precompute.run import require_device
from graphpe.transforms import Encoding

_DESCRIPTION = (
    "Computes encodings of all graphs of a dataset into a cache, where graphpe.encode(..., cache_dir=DIR) finds them. "
    "What is there is not computed again, and what was interrupted goes on."
)
_USAGE = "graphpe encode --config datasets/NAME.yaml --encodings LIST --cache-dir DIR [--OPTION VALUE ...]"
_HELP = {
    "encodings": "What to compute, such as "
    '\'[{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 16}}]\'; without it the data.encodings of an '
    "experiment.",
    "cache_dir": "The folder of the cache.",
    "workers": "Threads, or processes; null takes all cores.",
    "executor": "Where to compute: threads, processes, or a Dask cluster.",
    "scheduler": "Address of the scheduler of the Dask cluster, such as tcp://HOST:8786.",
    "shard": "I/N: compute the I-th of N parts, 1/N to N/N, each in a process or a job of its own.",
    "memory": "What to work on at a time, in memory: 500MB, 2GB, 1.5GiB, or a number of bytes.",
    "device": "Where to compute, such as cuda.",
    "on_error": "What to do about a graph that can't be encoded: end with its number, or go on, so that it is left out "
    "or has NaN later.",
    "verify": "Read what is there for its checksums.",
}
_OPTIONS = {
    "encodings": list[Encoding] | None,
    "cache_dir": str,
    "workers": int | None,
    "executor": Literal["threads", "processes", "dask"],
    "scheduler": str | None,
    "shard": str | None,
    "memory": str | int | None,
    "device": str | None,
    "on_error": OnError,
    "verify": bool,
}
_DEFAULTS = {"executor": "threads", "on_error": "raise", "verify": False}

# Sections of an experiment, and keys of its data, that have nothing to do with encoding.
_IGNORED = sections("fit").keys() - {"data"}
_IGNORED_DATA = arguments_of(GraphDataModule).keys() - {"dataset", "encodings"}
_IGNORED_KEYS = sorted({*_IGNORED, *(f"data.{name}" for name in _IGNORED_DATA)})
_SECTIONS = {**dict.fromkeys(_IGNORED, Any), "data": Group(GraphDataModule), **_OPTIONS}

# As `Any`, but classes that are named in it are not looked for.
_ANYTHING = dict | list | str | int | float | bool | None

_SIZE = re.compile(r"(\d+(?:\.\d*)?) ?(?:([KMGT])(i?)B|B?)", re.IGNORECASE)
_SECONDS_TO_ANSWER = 30
_NAMED_FAILURES = 20
_WIDTH_WITHOUT_TERMINAL = 160


@dataclass(frozen=True)
class EncodingData:
    """Which graphs are encoded.

    Args:
        dataset: Where the graphs come from.
        encodings: What an experiment attaches to the graphs.
    """

    dataset: GraphSource
    encodings: list[Encoding] | None = None


def run_encoding(options: list[str]) -> int:
    """Encodes a dataset into a cache.

    Args:
        options: The words after ``graphpe encode``.

    Returns:
        The exit code.
    """
    quieten()
    try:
        source, arguments, address = _read(_with_underscores(options))
        with _executor(address, arguments.pop("executor")) as executor:
            source.prepare()
            graphs, _ = source.load()
            report = fill_cache(graphs, executor=executor, **arguments)
    except ConfigError as error:
        return fail(2, str(error))
    except KeyboardInterrupt as interruption:
        raise KeyboardInterrupt(
            "interrupted; what was written is kept, and the same command goes on"
        ) from interruption
    except Exception as error:
        if not is_for_user(error):
            raise
        return fail(1, str(error))
    _show(report, arguments["share"])
    return 0


# --- the command line ------------------------------------------------------------------------------------------------


def _with_underscores(options: list[str]) -> list[str]:
    """Options as the parser and the checks want them: --cache-dir as --cache_dir, and --verify with its value."""
    words = []
    for word, following in zip(options, [*options[1:], "--"], strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("--") and name[2:].replace("-", "_") in _OPTIONS:
            name = "--" + name[2:].replace("-", "_")
        if name == "--verify" and not equals and following.startswith("-"):
            equals, value = "=", "true"
        words.append(name + equals + value)
    return words


def _read(options: list[str]) -> tuple[GraphSource, dict[str, Any], str | None]:
    """The dataset, the arguments of `fill_cache`, and the address of the scheduler for the executor ``"dask"``."""
    for config, is_file in read_options(options):
        valid = _SECTIONS | ({} if is_file else {"config": Any})
        check_names(config, valid, {}, is_file)
    parser = _parser()
    try:
        config = parser.parse_args(options)
    except ConfigError as error:
        raise ConfigError(with_whole_key(str(error), options)) from error
    try:
        objects = parser.instantiate(config)
        if config.workers is not None:
            require_positive_integer("workers", config.workers)
        if config.device is not None and config.executor != "dask":
            require_device(config.device)
    except (ValueError, TypeError) as error:
        raise ConfigError(essence(str(error))) from error
    encodings = objects.encodings or objects.data.encodings
    if not encodings:
        raise ConfigError(
            "there is nothing to compute; give --encodings, or add an experiment that has data.encodings such as "
            "--config experiments/zinc/spe.yaml"
        )
    share = None if config.shard is None else _share(config.shard)
    _check_executor(config, share)
    arguments = {
        "encodings": encodings,
        "cache_dir": config.cache_dir,
        "workers": config.workers,
        "executor": config.executor,
        "device": config.device,
        "memory_budget": None if config.memory is None else bytes_of(str(config.memory)),
        "on_error": config.on_error,
        "verify": config.verify,
        "share": share,
    }
    return objects.data.dataset, arguments, config.scheduler


def _parser() -> OneLineParser:
    parser = OneLineParser(prog="graphpe encode", description=_DESCRIPTION, usage=_USAGE)
    parser.add_argument(
        "-c", "--config", action=ActionConfigFile, help="A YAML file; may be given repeatedly."
    )
    parser.add_class_arguments(EncodingData, "data", instantiate=False)
    for name, kind in _OPTIONS.items():
        names = dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}"))
        needed = {"required": True} if name == "cache_dir" else {"default": _DEFAULTS.get(name)}
        parser.add_argument(*names, type=kind, help=_HELP[name], **needed)
    for name in _IGNORED_KEYS:
        parser.add_argument(f"--{name}", type=_ANYTHING, default=None, help=argparse.SUPPRESS)
    return parser


def _share(text: str) -> Share:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    share = Share(*map(int, found.groups())) if found else None
    if share is None or not 1 <= share.number <= share.count:
        raise ConfigError(
            f"shard is {text!r}; it must be I/N with I from 1 to N, such as 1/8 to 8/8; in a SLURM array "
            "--array=1-8: --shard $SLURM_ARRAY_TASK_ID/8"
        )
    return share


def bytes_of(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    size = 0
    if found:
        number, unit, binary = found.groups()
        power = 0 if unit is None else "KMGT".index(unit.upper()) + 1
        size = int(float(number) * (1024 if binary else 1000) ** power)
    if size < 1:
        raise ConfigError(
            f"memory is {text!r}; it must be a size such as 500MB, 2GB or 1.5GiB, or a number of bytes"
        )
    return size


def _check_executor(config: Any, share: Share | None) -> None:
    """Raises where the options about executors don't fit together."""
    if config.executor != "dask":
        if config.scheduler is not None:
            raise ConfigError("scheduler is for a Dask cluster; add --executor dask")
        return
    if config.scheduler is None:
        raise ConfigError(
            "executor is 'dask', which needs the address of a scheduler; start one with `dask scheduler`, workers on "
            "each machine with `dask worker tcp://HOST:8786`, and add --scheduler tcp://HOST:8786"
        )
    if config.workers is not None:
        raise ConfigError(
            f"workers is {config.workers}, but a Dask cluster has its own; leave it out"
        )
    if share is not None:
        raise ConfigError(
            f"shard is {share}, but a Dask cluster divides the work itself; leave out --shard or --executor dask"
        )


@contextmanager
def _executor(address: str | None, name: str) -> Iterator[Any]:
    """What `fill_cache` takes for an executor; a Dask cluster is left at the end."""
    if address is None:
        yield name
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ConfigError(
            "executor 'dask' needs the package distributed; pip install 'graphpe[dask]'"
        ) from error
    try:
        client = Client(address, timeout=_SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"scheduler: no answer from {address!r} within {_SECONDS_TO_ANSWER} s ({one_line(error)}); start it with "
            "`dask scheduler`, and give the address that it prints"
        ) from error
    with client:
        yield client


# --- the summary -----------------------------------------------------------------------------------------------------


def _show(report: CacheReport, share: Share | None) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("encoding", overflow="fold")
    for title in ("graphs", "shards computed", "there before", "size"):
        table.add_column(title, justify="right")
    for entry in report.entries:
        table.add_row(
            Text(str(entry.encoding)),
            f"{report.num_graphs:,}",
            f"{entry.computed:,}",
            f"{entry.present - entry.computed:,}",
            decimal(entry.bytes),
        )
    console.print(table)
    for line in _lines(report, share):
        # Not broken, so that paths can be copied.
        console.print(line, markup=False, soft_wrap=True)


def _lines(report: CacheReport, share: Share | None) -> Iterator[str]:
    """What the summary says below its table."""
    if report.encoded:
        rate = report.encoded / report.seconds
        yield f"encoded {report.encoded:,} graphs in {report.seconds:.1f} s: {rate:,.0f} graphs/s"
    else:
        yield "nothing to compute"
    for entry in report.entries:
        yield f"in {entry.folder}"
    if share is not None and report.missing:
        numbers = ", ".join(str(each.number) for each in report.missing)
        yield f"shard {share} is done; of {share.count} these are not: {numbers}"
    elif share is not None:
        yield f"shard {share} is done, and so are all {share.count}"
    failures = report.failures
    if failures:
        yield f"{len(failures):,} graphs have no values; all are in {NAME}, with the reasons:"
        for number, why in list(failures.items())[:_NAMED_FAILURES]:
            yield f"  {number}: {why}"
    if len(failures) > _NAMED_FAILURES:
        yield f"  and {len(failures) - _NAMED_FAILURES:,} more"
