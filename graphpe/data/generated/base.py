"""Datasets made by a program: seeded graph by graph, kept in a folder, and resumed after an interruption."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from abc import abstractmethod
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch_geometric.data import Data, InMemoryDataset

from graphpe import files
from graphpe.checks import require_positive_integer, require_seed
from graphpe.data.generated.graph_checks import require_attributes, require_graphs
from graphpe.data.generated.statistics import PartStatistics, part_statistics
from graphpe.data.sources import GraphSource, SplitGraphs
from graphpe.data.storage import Packed, join, number_of_graphs, pack_graphs, unpack
from graphpe.processes import in_processes

_PARTS = ("train", "valid", "test")
# Settings that don't change the graphs.
_NOT_IN_KEY = ("root", "workers")


class StoredGraphs(InMemoryDataset):
    """Graphs in PyG's collated storage, without files of its own.

    Args:
        packed: What `graphpe.data.storage.pack` gives.
    """

    def __init__(self, packed: Packed) -> None:
        super().__init__()
        columns, self.slices = packed
        self._data = unpack(columns)


@dataclass(frozen=True, kw_only=True)
class GeneratedGraphs(GraphSource):
    """A dataset that a program makes, once.

    The same settings give the same graphs, whatever the number of processes and however often it was interrupted: each
    item draws from a generator of its own, seeded by (seed, part, number of the item). The graphs are kept in
    ``<root>/<name>-<key>``, where the key stands for the class, its `version` and the settings; they are made in
    shards, and shards that are there are not made again.

    A subclass is decorated with ``@dataclass(frozen=True, kw_only=True)``, and its fields are the settings. It needs
    `sizes` and `generate`.

    Attributes:
        version: A class attribute, 1 at first. Raise it when `generate` changes: the folder is then another one.
            Otherwise the graphs of the old `generate` are found there and loaded.
        items_per_shard: A class attribute: how many items are made and written at a time.

    Args:
        root: Folder of generated datasets.
        seed: Seed of everything random.
        workers: Processes that generate.

    Raises:
        TypeError: If a subclass is not a dataclass itself, so that settings would be missing from the key.
        ValueError: If a setting is out of range, or the folder can't be written to.
    """

    root: Path = Path("data/generated")
    seed: int = 42
    workers: int = 1

    version: ClassVar[int] = 1
    items_per_shard: ClassVar[int] = 500

    def __post_init__(self) -> None:
        _require_dataclasses(type(self))
        require_seed("seed", self.seed)
        require_positive_integer("workers", self.workers)

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Number of items of ``"train"``, ``"valid"`` and ``"test"``; an item may give several graphs, or none."""

    @abstractmethod
    def generate(self, part: str, numbers: range) -> list[Data]:
        """The graphs of some items of a part, in their order.

        What an item gives may depend on ``self.random(part, number)`` and the settings only, never on the other
        ``numbers``. A graph needs ``edge_index``, a tensor ``y``, and ``x`` or ``num_nodes``. Other attributes may be
        tensors, numbers, strings, or lists of numbers and strings; all graphs have the same ones.
        """

    def random(self, part: str, number: int, stream: int = 0) -> np.random.Generator:
        """The random numbers of an item; ``stream`` tells several independent ones apart."""
        return np.random.default_rng([self.seed, _PARTS.index(part), number, stream])

    @property
    def folder(self) -> Path:
        """Where the graphs are kept."""
        settings = json.dumps(self._settings(), sort_keys=True)
        key = hashlib.sha256(settings.encode()).hexdigest()[:10]
        return Path(self.root).expanduser() / f"{self._name()}-{key}"

    def prepare(self) -> None:
        """Generates the graphs if they aren't there."""
        folder = self.folder
        graphs, shards = folder / "graphs.pt", folder / "shards"
        if graphs.exists() and not shards.exists():
            return
        with files.exclusive(folder):
            if not graphs.exists():
                try:
                    self._generate(folder)
                except (OSError, ValueError):
                    # Another machine on this file system, whose lock is unseen here, may have been faster and have
                    # removed the shards.
                    if not graphs.exists():
                        raise
            shutil.rmtree(shards, ignore_errors=True)

    def load(self) -> SplitGraphs:
        """The graphs, generated the first time, and which of them are in which part."""
        self.prepare()
        packed, counts = files.load(self.folder / "graphs.pt")
        numbers = torch.arange(sum(counts)).split(counts)
        return SplitGraphs(StoredGraphs(packed), dict(zip(_PARTS, numbers, strict=True)))

    def statistics(self) -> dict[str, PartStatistics]:
        """Sizes and targets of each part, as they came out."""
        self.prepare()
        path = self.folder / "statistics.json"
        if not path.exists():
            packed, counts = files.load(self.folder / "graphs.pt")
            return _save_statistics(packed, dict(zip(_PARTS, counts, strict=True)), path)
        try:
            read = json.loads(path.read_text())
            return {part: PartStatistics(**read[part]) for part in _PARTS}
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is broken; delete it, and it is made again") from error

    def _name(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    def _settings(self) -> dict[str, Any]:
        _require_dataclasses(type(self))  # again, since a subclass may have its own __post_init__
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        identity = {name: value for name, value in given.items() if name not in _NOT_IN_KEY}
        origin = _origin(type(self))
        return {"dataset": self._name(), "version": self.version, **origin, **_plain(identity)}

    def _generate(self, folder: Path) -> None:
        # First, since it shows whether the folder can be written to.
        _save_json(self._settings(), folder / "settings.json")
        shards = self._shards(folder / "shards")
        self._make([shard for shard in shards if not shard.path.exists()], len(shards))
        packed = {shard: files.load(shard.path) for shard in shards}
        counts = dict.fromkeys(_PARTS, 0)
        for shard, graphs in packed.items():
            counts[shard.part] += number_of_graphs(graphs)
        empty = [part for part, count in counts.items() if count == 0]
        if empty:
            raise ValueError(f"{self} gives no graph for {empty[0]!r}; ask for more")
        joined = join({str(shard): graphs for shard, graphs in packed.items()})
        del packed
        statistics = _save_statistics(joined, counts, folder / "statistics.json")
        # Last, since it says that all is there.
        files.save((joined, list(counts.values())), folder / "graphs.pt")
        for part, values in statistics.items():
            print_line(f"{self._name()} {part}: {values}")

    def _shards(self, folder: Path) -> list[_Shard]:
        sizes = self.sizes()
        if set(sizes) != set(_PARTS):
            raise ValueError(
                f"{type(self).__name__}.sizes gives {list(sizes)}; it must give train, valid and test"
            )
        shards = []
        for part in _PARTS:  # in this order, whichever the sizes have
            for start in range(0, sizes[part], self.items_per_shard):
                numbers = range(start, min(start + self.items_per_shard, sizes[part]))
                shards.append(_Shard(part, numbers, folder / f"{part}-{start:07d}.pt"))
        return shards

    def _make(self, shards: list[_Shard], total: int) -> None:
        """Makes shards under a progress bar, in this process or in others."""
        columns = (
            TextColumn(f"Generating {self._name()}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        workers = min(self.workers, len(shards))
        console = Console(stderr=True)
        if workers > 1 and not console.is_terminal:  # where no bar tells that something happens
            print_line(f"Generating {self._name()} with {workers} processes")
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=total, completed=total - len(shards))
            make = partial(_make_shard, self)
            for _ in in_processes(make, shards, max(workers, 1), f"generates {self._name()}"):
                bar.advance(task)


class _Shard(NamedTuple):
    """Some items of a part, and the file that holds their graphs."""

    part: str
    numbers: range
    path: Path

    def __str__(self) -> str:
        return f"items {self.numbers.start} to {self.numbers.stop - 1} of {self.part}"


def _make_shard(dataset: GeneratedGraphs, shard: _Shard) -> None:
    """Generates a shard, in whatever process, and writes it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        graphs = dataset.generate(shard.part, shard.numbers)
    finally:
        torch.set_num_threads(threads)
    try:
        require_graphs(graphs)
        packed = pack_graphs(graphs)
        require_attributes(packed)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{type(dataset).__name__}, {shard}: {error}") from error
    files.save(packed, shard.path)


def print_line(text: str) -> None:
    """One line on stderr, whatever its width."""
    Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)


def _require_dataclasses(own: type[GeneratedGraphs]) -> None:
    """A TypeError if a class has fields that are none to ``dataclasses``, which the key would lack."""
    for base in own.__mro__:
        if issubclass(base, GeneratedGraphs) and "__dataclass_params__" not in vars(base):
            raise TypeError(
                f"{base.__name__} is no dataclass itself, so its folder would not depend on its settings; decorate it "
                "with @dataclass(frozen=True, kw_only=True)"
            )


def _origin(own: type[GeneratedGraphs]) -> dict[str, str]:
    """Where a class is from, since others may have its name; nothing for graphpe's own, whose names are all different.

    A script's module is named after its file, so that its classes are the same when it is imported.
    """
    module = own.__module__
    if module.split(".")[0] == "graphpe":
        return {}
    if module in ("__main__", "__mp_main__"):  # the latter in spawned processes, of loaders say
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or "__main__").stem
    return {"class": f"{module}.{own.__qualname__}"}


def _save_statistics(
    packed: Packed, counts: dict[str, int], path: Path
) -> dict[str, PartStatistics]:
    statistics = part_statistics(*packed, counts)
    _save_json({part: asdict(values) for part, values in statistics.items()}, path)
    return statistics


def _save_json(content: Any, path: Path) -> None:
    files.save_text(json.dumps(content, indent=1) + "\n", path)


def _plain(value: Any) -> Any:
    """Settings as JSON has them: paths are strings, and nested dataclasses dictionaries."""
    if is_dataclass(value):
        settings = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"class": type(value).__name__, **settings}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
