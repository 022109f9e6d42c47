"""Encoding without a cache: all values in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from graphpe.precompute.cache.plan import ranges_of
from graphpe.precompute.computing import Computed, Failures, Settings, compute
from graphpe.precompute.stored import GraphsInMemory, StoredGraphs
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values


def compute_all(
    graphs: StoredGraphs,
    encodings: Sequence[Encoding],
    settings: Settings,
    advance: Callable[[int], object],
) -> tuple[Values, Failures]:
    """The fields of all graphs, and the graphs that have none, with the reasons.

    Args:
        graphs: The graphs.
        encodings: The encodings.
        settings: How to compute.
        advance: Called with the number of graphs each time that some are done.
    """
    if isinstance(graphs, GraphsInMemory) and not settings.go_on:
        # In one piece, so that nothing is copied.
        return compute(graphs.graphs, encodings, settings, {}, advance).values, {}
    parts: list[Computed] = []
    for start, stop in ranges_of(graphs.sizes):
        part = graphs.part(start, stop)
        parts.append(compute(part, encodings, settings, graphs.invalid, advance))
    failures = {
        number: why for part in parts for failed in part.failures for number, why in failed.items()
    }
    values = [
        tuple(torch.cat(pieces) for pieces in zip(*own, strict=True))
        for own in zip(*(part.values for part in parts), strict=True)
    ]
    return values, dict(sorted(failures.items()))
