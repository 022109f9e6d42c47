"""How the graphs of a dataset are divided into shards."""

from __future__ import annotations

import torch

from graphpe.graphs import GraphBatch

# What a shard has at most, unless it is of one graph: of pair fields of width 8 that is 128 MiB.
_GRAPHS, _PAIRS = 4096, 1 << 22


def shards_of(graphs: GraphBatch) -> list[tuple[int, int]]:
    """First graph, and that after the last, of each shard.

    They depend on the sizes of the graphs only, so that every run divides a dataset alike.
    """
    pairs = torch.cat([torch.zeros(1, dtype=torch.long), (graphs.num_nodes**2).cumsum(0)])
    shards, start = [], 0
    while start < len(graphs):
        limit = int(torch.searchsorted(pairs, int(pairs[start]) + _PAIRS, right=True)) - 1
        stop = max(start + 1, min(limit, start + _GRAPHS, len(graphs)))
        shards.append((start, stop))
        start = stop
    return shards
