"""Processes that are killed lose nothing: the next one goes on at the first shard that lacks, to the same bytes."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from cache_writers import GRAPHS_IN_SHARD, SHARDS, Writer, encode_molecules, leftovers
from encoded_folders import contents, shards
from file_operations import operations_of

from graphpe.precompute.cache.contents import Contents


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that isn't disturbed."""
    folder = tmp_path_factory.mktemp("clean")
    Writer(folder)()
    return contents(folder)


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


def state(folder: Path) -> tuple[int, int, int]:
    """How many shards are there, receipts and manifests."""
    files = [path for path in folder.rglob("*.*") if path.parent.name.startswith("Add")]
    manifests = sum(path.name == "manifest.json" for path in files)
    receipts = sum(path.suffix == ".json" for path in files) - manifests
    return sum(path.suffix == ".safetensors" for path in files), receipts, manifests


def assert_completes(folder: Path, clean: dict[str, bytes]) -> None:
    """That a run to the end gives the same bytes, leaves nothing else, and touches no shard that is whole."""
    before = whole(folder)
    Writer(folder)()
    assert contents(folder) == clean
    assert leftovers(folder) == []
    assert before.items() <= whole(folder).items()


def test_killed_at_random_moments_in_30_runs(tmp_path: Path, clean) -> None:
    """Half of them at random times, half at a random one of the calls that write."""
    moments = random.Random(7)
    operations = operations_of(Writer(tmp_path / "counted"))
    start = time.perf_counter()
    Writer(tmp_path / "timed").start().join()
    duration = time.perf_counter() - start
    states, kills, folder = [], 0, tmp_path / "0"
    while kills < 30:
        lacking = 1 - len(whole(folder)) / SHARDS if folder.exists() else 1
        before = whole(folder)
        if kills % 2:
            process = Writer(folder).start()
            time.sleep(moments.uniform(0, duration * lacking))
            process.kill()
        else:
            process = Writer(
                folder, killed_at=moments.randrange(1, max(2, round(operations * lacking)))
            ).start()
        process.join()
        assert before.items() <= whole(folder).items()
        if process.exitcode == -signal.SIGKILL:
            kills += 1
            states.append(state(folder))
        if process.exitcode == 0 or kills % 6 == 0:
            assert_completes(folder, clean)
            folder = tmp_path / f"{kills}-{len(states)}"
    numbers = [number for number, *_ in states]
    print(states)
    assert len(set(states)) >= 15
    assert sum(number < 2 for number in numbers) >= 2
    assert sum(2 <= number < SHARDS for number in numbers) >= 10
