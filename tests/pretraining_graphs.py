"""Small graphs that the tests of pre-training share."""

from __future__ import annotations

import torch
from torch_geometric.data import Data


def sparse_graphs(count: int, *, seed: int = 0) -> list[Data]:
    """Undirected graphs of 4 to 12 nodes: a random tree each, and some more edges."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(count):
        n = int(torch.randint(4, 13, (1,), generator=generator))
        parent = (torch.rand(n - 1, generator=generator) * torch.arange(1, n)).long()
        tree = torch.stack([torch.arange(1, n), parent])
        more = torch.randint(0, n, (2, 2), generator=generator)
        edges = torch.cat([tree, more[:, more[0] != more[1]]], dim=1)
        graphs.append(Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=n))
    return graphs
