"""Small graphs on which encoders go wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data


def small_graphs() -> dict[str, Data]:
    """Undirected graphs by name: empty, tiny, disconnected, with repeated eigenvalues, and one that is larger."""
    return {
        "no nodes": _graph(0, []),
        "one node": _graph(1, []),
        "one node with a loop": _graph(1, [(0, 0)]),
        "two nodes": _graph(2, [(0, 1)]),
        "no edges": _graph(4, []),
        "path": _graph(6, [(i, i + 1) for i in range(5)]),
        "cycle (double eigenvalues)": _graph(8, [(i, (i + 1) % 8) for i in range(8)]),
        "star (one eigenvalue many times)": _graph(7, [(0, i) for i in range(1, 7)]),
        "complete": _graph(5, [(i, j) for i in range(5) for j in range(i)]),
        "isolated nodes": _graph(6, [(1, 2), (2, 4)]),
        "equal components": _graph(9, [(i, i + 1) for i in range(8) if i % 3 < 2]),
        "parallel edges": _graph(4, [(0, 1), (0, 1), (1, 2), (2, 3)]),
        "grid, larger": _graph(
            30,
            [(i, i + 1) for i in range(30) if i % 5 < 4] + [(i, i + 5) for i in range(25)],
        ),
    }


def random_graphs() -> dict[str, Data]:
    """Undirected random graphs by name, drawn from torch's default generator; one may be disconnected."""
    return {
        f"random, {n} nodes": _graph(n, (torch.rand(n, n) < density).tril(-1).nonzero().tolist())
        for n, density in ((5, 0.5), (10, 0.15), (12, 0.4))
    }


def small_directed_graphs() -> dict[str, Data]:
    """Directed graphs by name, with and without repeated eigenvalues of the magnetic Laplacian."""
    return {
        "one edge": _directed(2, [(0, 1)]),
        "directed path": _directed(6, [(i, i + 1) for i in range(5)]),
        "directed cycle": _directed(6, [(i, (i + 1) % 6) for i in range(6)]),
        "twins (one eigenvalue many times)": _directed(6, [(0, i) for i in range(1, 5)] + [(5, 0)]),
        "equal directed components": _directed(8, [(0, 1), (1, 2), (3, 4), (4, 5)]),
        "two-way pairs and loops": _directed(5, [(0, 1), (1, 0), (1, 2), (2, 2), (3, 1), (3, 4)]),
        "acyclic, larger": _directed(
            20, [(i, j) for i in range(20) for j in (i + 1, i + 5) if j < 20]
        ),
    }


def _directed(num_nodes: int, edges: list[tuple[int, int]]) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t().contiguous()
    return Data(edge_index=edge_index, num_nodes=num_nodes)


def _graph(num_nodes: int, edges: Sequence[Sequence[int]]) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    reverse = edge_index[:, edge_index[0] != edge_index[1]].flip(0)
    return Data(edge_index=torch.cat([edge_index, reverse], dim=1), num_nodes=num_nodes)
