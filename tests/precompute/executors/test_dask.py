"""Encoding on a Dask cluster: the same files, also where workers die and join."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")

from encoded_folders import (  # noqa: E402
    ENCODINGS,
    AddWalksAndDie,
    contents,
    molecules,
    shards,
    with_a_bad_weight,
)

import graphpe  # noqa: E402
from graphpe.precompute.cache import plan  # noqa: E402
from graphpe.precompute.executors import dask  # noqa: E402
from graphpe.transforms import AddRandomWalkPE  # noqa: E402


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", 50)


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: distributed.LocalCluster) -> Iterator[distributed.Client]:
    with distributed.Client(cluster) as client:
        tests = str(Path(__file__).resolve().parents[2])
        client.run(lambda: __import__("sys").path.insert(0, tests))
        yield client


def test_the_files_are_those_of_threads(tmp_path: Path, client) -> None:
    threads, others = tmp_path / "threads", tmp_path / "dask"
    graphpe.encode(molecules(), ENCODINGS, cache_dir=threads)
    graphpe.encode(molecules(), ENCODINGS, cache_dir=others, executor=client)
    assert contents(others) == contents(threads)
    assert shards(others) == 2 * 23


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path, client) -> None:
    cache = tmp_path / "cache"
    pids = client.run(os.getpid)

    def kill_one() -> None:
        while shards(cache) < 5:
            time.sleep(0.001)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    graphpe.encode(molecules(), ENCODINGS, cache_dir=cache, executor=client)
    killer.join()
    graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path / "clean")
    assert contents(cache) == contents(tmp_path / "clean")
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != set(pids.values())


def test_a_task_of_a_worker_that_dies_is_done_by_another(tmp_path: Path, client) -> None:
    encoding = AddWalksAndDie(6, marker=str(tmp_path / "marker"))
    graphpe.encode(molecules(), encoding, cache_dir=tmp_path / "cache", executor=client)
    assert (tmp_path / "marker").exists()
    graphpe.encode(molecules(), encoding, cache_dir=tmp_path / "clean")
    assert contents(tmp_path / "cache") == contents(tmp_path / "clean")


def test_a_graph_that_fails_is_named(tmp_path: Path, client) -> None:
    """It is too large for the memory that there is, which only the worker finds."""
    graphs = with_a_bad_weight(120, bad=-1)
    graphs[70].num_nodes = 900
    encoding = AddRandomWalkPE(4, dense_limit=1000)
    options = {"cache_dir": tmp_path, "executor": client}
    with pytest.raises(ValueError, match="graph 70 has 900 nodes"):
        graphpe.encode(graphs, encoding, memory_budget=2**20, **options)
    encoded = graphpe.encode(graphs, encoding, **options)
    assert len(encoded) == 120


def test_a_cluster_without_workers_is_one_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(dask, "_PATIENCE", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty,
        distributed.Client(empty) as client,
        pytest.raises(ValueError, match=r"the Dask cluster has no workers.*start some") as error,
    ):
        graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path, executor=client)
    assert "\n" not in str(error.value)


def test_the_cluster_decides_on_workers(tmp_path: Path, client) -> None:
    with pytest.raises(ValueError, match="workers is 3, but a Dask cluster has its own"):
        graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path, executor=client, workers=3)


def test_other_versions_are_refused(tmp_path: Path, client, monkeypatch) -> None:
    monkeypatch.setattr(dask, "version", lambda name: "0.0.7")
    with pytest.raises(ValueError, match=r"workers .* have graphpe .*, but this process has 0.0.7"):
        graphpe.encode(molecules(), ENCODINGS, cache_dir=tmp_path, executor=client)
