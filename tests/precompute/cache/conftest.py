"""Fixtures for tests of the cache."""

from __future__ import annotations

import importlib

import pytest
from cache_writers import GRAPHS_IN_SHARD

from graphpe.precompute.cache import plan


@pytest.fixture(autouse=True)
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr(plan, "_GRAPHS", GRAPHS_IN_SHARD)


@pytest.fixture
def computed(monkeypatch) -> list[tuple[int, int, list[str]]]:
    """What was computed: first graph, number of graphs and encodings."""
    seen = []
    module = importlib.import_module("graphpe.precompute.computing")
    original = module.compute_fields

    def counting(graphs, encodings, **options):
        seen.append((graphs.first, len(graphs), [type(e).__name__ for e in encodings]))
        return original(graphs, encodings, **options)

    monkeypatch.setattr(module, "compute_fields", counting)
    return seen
