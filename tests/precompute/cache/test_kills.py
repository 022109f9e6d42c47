"""Processes that are killed lose nothing: the next one goes on at the first shard that lacks, to the same bytes."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from cache_writers import GRAPHS_IN_SHARD, SHARDS, Writer, leftovers, whole
from encoded_folders import contents
from file_operations import operations_of

from graphpe.files import is_running
from graphpe.transforms import AddRandomWalkPE


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that isn't disturbed."""
    folder = tmp_path_factory.mktemp("clean")
    Writer(folder)()
    return contents(folder)


def state(folder: Path) -> tuple[int, int, int, int]:
    """How many shards, receipts, manifests and unfinished files there are."""
    names = [path.name for path in folder.glob("*/*/*")]
    manifests = names.count("manifest.json")
    counts = [
        sum(name.endswith(ending) for name in names)
        for ending in (".safetensors", ".json", ".partial")
    ]
    return counts[0], counts[1] - manifests, manifests, counts[2]


def assert_completes(folder: Path, clean: dict[str, bytes]) -> None:
    """That a run to the end gives the same bytes, leaves nothing else, and touches no shard that is whole."""
    before = whole(folder)
    Writer(folder)()
    assert contents(folder) == clean
    assert leftovers(folder) == []
    assert before.items() <= whole(folder).items()


def killed_runs(folder: Path, count: int, start: Callable[[Path], BaseProcess], clean) -> list:
    """What the folder holds after each kill of some runs, which go on with what is there.

    Args:
        folder: Where the caches are; a new one follows on each that is complete.
        count: Number of kills.
        start: Starts a run, and kills it.
        clean: What a cache must hold in the end.
    """
    states: list[tuple[int, int, int, int]] = []
    cache, number = folder / "0", 0
    while len(states) < count:
        before = whole(cache)
        process = start(cache)
        process.join()
        assert before.items() <= whole(cache).items()
        if process.exitcode == -signal.SIGKILL:
            states.append(state(cache))
        if process.exitcode == 0 or len(states) == count:
            assert_completes(cache, clean)
            number += 1
            cache = folder / str(number)
    return states


def test_killed_at_random_times(tmp_path: Path, clean) -> None:
    moments = random.Random(7)
    Writer(tmp_path / "first").start().join()
    begin = time.perf_counter()
    Writer(tmp_path / "timed").start().join()
    duration = time.perf_counter() - begin

    def start(cache: Path) -> BaseProcess:
        process = Writer(cache).start()
        time.sleep(moments.uniform(0, 0.6 * duration))
        process.kill()
        return process

    states = killed_runs(tmp_path, 15, start, clean)
    assert len(set(states)) >= 2  # the times depend on the machine; the next test has the spread
    assert any(0 < number < SHARDS for number, *_ in states)


def test_killed_at_random_file_operations(tmp_path: Path, clean) -> None:
    moments = random.Random(7)
    operations = operations_of(Writer(tmp_path / "counted"))

    def start(cache: Path) -> BaseProcess:
        return Writer(cache, killed_at=moments.randrange(1, operations // 2)).start()

    states = killed_runs(tmp_path, 15, start, clean)
    assert len(set(states)) >= 8
    assert min(states)[0] < 4
    assert sum(4 <= shards < SHARDS for shards, *_ in states) >= 8


def test_killed_at_each_file_operation(tmp_path: Path) -> None:
    """Before the first shard, between shard and receipt, between manifest and what goes with it: every state."""
    small = partial(Writer, graphs=2 * GRAPHS_IN_SHARD, encodings=(AddRandomWalkPE(4),))
    operations = operations_of(small(tmp_path / "clean"))
    wanted, states = contents(tmp_path / "clean"), set()
    for number in range(1, operations + 1):
        cache = tmp_path / str(number)
        process = small(cache, killed_at=number).start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        states.add(state(cache))
        before = whole(cache)
        small(cache)()
        assert contents(cache) == wanted
        assert leftovers(cache) == []
        assert before.items() <= whole(cache).items()
    for each in (
        (0, 0, 0, 0),  # nothing yet
        (0, 0, 0, 1),
        (1, 0, 0, 1),  # a shard without its receipt
        (1, 1, 0, 0),
        (2, 2, 0, 1),  # a manifest that isn't whole
        (2, 2, 1, 1),  # one that is, beside receipts
        (2, 1, 1, 0),
    ):
        assert each in states


@dataclass(frozen=True, repr=False)
class AddSlowWalks(AddRandomWalkPE):
    """Takes its time, and leaves the number of its process.

    Args:
        numbers: A folder.
    """

    numbers: str = ""

    def encode_block(self, block):
        (Path(self.numbers) / str(os.getpid())).touch()
        time.sleep(0.05)
        return super().encode_block(block)


def test_killed_while_other_processes_compute(tmp_path: Path) -> None:
    """They end too, and what they had written counts."""
    numbers, cache = tmp_path / "numbers", tmp_path / "killed"
    numbers.mkdir()
    writer = {"encodings": (AddSlowWalks(4, numbers=str(numbers)),)}
    options = {"executor": "processes", "workers": 1}
    process = Writer(cache, options=options, **writer).start()
    while len(whole(cache)) < 2:
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
    deadline = time.monotonic() + 30
    while any(is_running(path.name) for path in numbers.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = whole(cache)
    assert 2 <= len(before) < SHARDS // 2
    for folder in (cache, tmp_path / "clean"):
        Writer(folder, **writer)()
    assert contents(cache) == contents(tmp_path / "clean")
    assert leftovers(cache) == []
    assert before.items() <= whole(cache).items()
