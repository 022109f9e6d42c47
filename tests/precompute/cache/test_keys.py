"""Fingerprints of the content of datasets."""

from __future__ import annotations

from graph_zoo import graph

from graphpe.graphs import GraphBatch
from graphpe.precompute.cache.keys import fingerprint


def test_datasets_without_any_edges_have_fingerprints() -> None:
    sizes = [(0,), (3,), (0, 3), (3, 0)]
    found = {fingerprint(GraphBatch.of([graph(n) for n in each])) for each in sizes}
    assert len(found) == len(sizes)
