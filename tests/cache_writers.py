"""Processes that encode into a cache: they start at once, and can be killed."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import random
import time
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from encoded_folders import ENCODINGS, molecules
from file_operations import at_each_file_operation, killer
from torch_geometric.data import InMemoryDataset

import graphpe
from graphpe import files
from graphpe.precompute import Share, fill_cache
from graphpe.precompute.cache import plan
from graphpe.precompute.cache.contents import Contents
from graphpe.transforms import Encoding

# Each process is forked off one without threads that has imported everything.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["graphpe", "graphpe.data", "pytest"])

GRAPHS, GRAPHS_IN_SHARD = 40, 4
SHARDS = GRAPHS // GRAPHS_IN_SHARD * len(ENCODINGS)


def some_molecules(count: int = GRAPHS) -> InMemoryDataset:
    """The first molecules, whose fields are read from the cache when they are asked for."""
    return molecules()[:count]


@dataclass(frozen=True)
class Writer:
    """Encodes molecules into a cache, in a process of its own or in this one.

    Args:
        folder: The cache.
        graphs: Number of molecules.
        encodings: The encodings.
        share: The part of the graphs that is for it; None: all.
        killed_at: Number of the file operation before which it kills its process.
        log: A file that gets a line for each range that is computed: number of its first graph, and encodings.
        slowness: Seconds that it waits on average before each file operation.
        seed: Of these waits.
        has_locks: Whether it sees the locks of others.
        options: Further arguments of `fill_cache`.
    """

    folder: Path
    graphs: int = GRAPHS
    encodings: tuple[Encoding, ...] = tuple(ENCODINGS)
    share: Share | None = None
    killed_at: int | None = None
    log: Path | None = None
    slowness: float = 0.0
    seed: int = 0
    has_locks: bool = True
    options: dict[str, Any] = field(default_factory=lambda: {"workers": 1})

    def start(self) -> BaseProcess:
        """Starts a process that encodes."""
        process = CONTEXT.Process(target=self)
        process.start()
        return process

    def __call__(self) -> None:
        with ExitStack() as stack:
            patched = stack.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(plan, "_GRAPHS", GRAPHS_IN_SHARD)
            if self.log is not None:
                _log_computation(patched, self.log)
            if not self.has_locks:
                patched.setattr(files, "exclusive", lambda *_: nullcontext())
            if self.killed_at is not None:
                stack.enter_context(at_each_file_operation(killer(self.killed_at)))
            if self.slowness:
                moments = random.Random(self.seed)
                stack.enter_context(
                    at_each_file_operation(
                        lambda _: time.sleep(moments.expovariate(1 / self.slowness))
                    )
                )
            fill_cache(
                some_molecules(self.graphs),
                list(self.encodings),
                cache_dir=self.folder,
                share=self.share,
                progress=False,
                **self.options,
            )


def _log_computation(patched: pytest.MonkeyPatch, log: Path) -> None:
    module = importlib.import_module("graphpe.precompute.computing")
    original = module.compute_fields

    def logging(graphs, encodings, **options):
        for each in encodings:
            with log.open("a") as file:
                file.write(f"{graphs.first} {type(each).__name__} {os.getpid()}\n")
        return original(graphs, encodings, **options)

    patched.setattr(module, "compute_fields", logging)


def encode_molecules(folder: Path, count: int = GRAPHS, **options: Any) -> Any:
    """Encodes molecules in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan, "_GRAPHS", GRAPHS_IN_SHARD)
        return graphpe.encode(
            some_molecules(count), ENCODINGS, cache_dir=folder, workers=1, progress=False, **options
        )


def leftovers(folder: Path) -> list[Path]:
    """What a process leaves that is killed while it makes a file."""
    return [path for path in folder.rglob("*") if path.name.endswith(".partial")]


def whole(folder: Path) -> dict[Path, tuple[int, int]]:
    """The shards that are known to be whole, as files that nobody has written to since."""
    entries = Contents.read(folder).entries if folder.exists() else ()
    paths = [
        entry.folder / receipt.file
        for entry in entries
        for receipt, reason in entry.faults(content=True)
        if reason is None
    ]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}
