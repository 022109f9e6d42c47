"""Several processes on one cache: each shard is computed once where they see each other, and all end well."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import torch
from cache_writers import SHARDS, Writer, encode_molecules, leftovers
from encoded_folders import contents, shards

from graphpe.precompute import Share


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that isn't disturbed."""
    folder = tmp_path_factory.mktemp("clean")
    Writer(folder)()
    return contents(folder)


def computed(log: Path) -> Counter[tuple[str, str]]:
    """How often each range was computed, by its first graph and the encoding."""
    return Counter(tuple(line.split()[:2]) for line in log.read_text().splitlines())


def run_at_once(*writers: Writer) -> None:
    processes = [writer.start() for writer in writers]
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * len(writers)


def test_one_computes_and_the_other_waits(tmp_path: Path, clean) -> None:
    cache, log = tmp_path / "cache", tmp_path / "log"
    run_at_once(Writer(cache, log=log, slowness=0.002), Writer(cache, log=log, slowness=0.002))
    assert set(computed(log).values()) == {1}
    assert len(computed(log)) == SHARDS
    assert contents(cache) == clean


def test_the_one_that_waits_goes_on_where_the_other_was_killed(tmp_path: Path, clean) -> None:
    cache, log = tmp_path / "cache", tmp_path / "log"
    first = Writer(cache, log=log, slowness=0.01).start()
    while shards(cache) < 3:
        time.sleep(0.001)
    second = Writer(cache, log=log).start()
    time.sleep(0.2)
    assert shards(cache) < SHARDS
    first.kill()
    second.join(120)
    assert second.exitcode == 0
    assert sum(computed(log).values()) < 2 * SHARDS
    assert contents(cache) == clean
    assert leftovers(cache) == []


@pytest.mark.parametrize("seed", range(3))
def test_writers_that_see_no_locks_end_well(tmp_path: Path, clean, seed: int) -> None:
    """As on machines whose common file system has none."""
    cache, log = tmp_path / "cache", tmp_path / "log"
    run_at_once(
        *(
            Writer(cache, log=log, slowness=0.01, seed=2 * seed + own, has_locks=False)
            for own in range(2)
        )
    )
    assert max(computed(log).values()) == 2  # so that they really were at it at once
    assert contents(cache) == clean
    assert leftovers(cache) == []


def test_writers_with_different_encodings(tmp_path: Path, clean) -> None:
    cache = tmp_path / "cache"
    walks, eigenvectors = (Writer(cache, encodings=(each,)) for each in Writer(cache).encodings)
    run_at_once(walks, eigenvectors)
    assert contents(cache) == clean


@pytest.mark.parametrize("with_whole", [False, True])
def test_shares_at_once(tmp_path: Path, clean, with_whole: bool) -> None:
    cache = tmp_path / "cache"
    writers = [Writer(cache, share=Share(number, 3), slowness=0.002) for number in (3, 1, 2)]
    run_at_once(*writers, *([Writer(cache, slowness=0.002)] if with_whole else []))
    assert contents(cache) == clean


def test_a_whole_run_completes_what_a_killed_share_left(tmp_path: Path, clean) -> None:
    cache = tmp_path / "cache"
    share = Writer(cache, share=Share(1, 2), slowness=0.01).start()
    while shards(cache) < 2:
        time.sleep(0.001)
    share.kill()
    share.join()
    run_at_once(Writer(cache, share=Share(2, 2)))
    assert shards(cache) < SHARDS
    run_at_once(Writer(cache))
    assert contents(cache) == clean


def test_threads_of_one_process(tmp_path: Path, clean) -> None:
    cache, found = tmp_path / "cache", []
    threads = [
        threading.Thread(target=lambda: found.append(encode_molecules(cache))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 3
    assert torch.equal(found[0][39].random_walk_pe, found[2][39].random_walk_pe)
    assert contents(cache) == clean
