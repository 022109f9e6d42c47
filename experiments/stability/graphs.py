"""Graphs, small changes of them, and what is known of both from their Laplacian."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_dense_adj

from experiments.reporting import ROOT
from graphpe.data import ZINC, CycleCounting, OGBGraphs


def molecules(count: int, zinc: Path | None = None) -> list[Data]:
    """Some molecules with bonds, evenly spaced in ogbg-molesol (or ZINC, where its folder is given)."""
    bundled = ROOT / "datasets" / "bundled"
    dataset = OGBGraphs("ogbg-molesol", bundled) if zinc is None else ZINC(zinc, subset=True)
    with_edges = [number for number, graph in enumerate(dataset) if graph.num_edges]
    chosen = np.linspace(0, len(with_edges) - 1, min(count, len(with_edges))).astype(int)
    return [_bare(dataset[with_edges[number]]) for number in chosen]


def random_graphs(count: int) -> list[Data]:
    """Random graphs of 20 nodes, in which a pair has an edge with probability 0.2."""
    dataset = CycleCounting(num_nodes=20, edge_probability=0.2, lengths=(3,))
    return [_bare(graph) for graph in dataset.generate("train", range(count))]


def _bare(graph: Data) -> Data:
    """The edges alone, all of weight 1."""
    return Data(
        edge_index=graph.edge_index,
        edge_weight=torch.ones(graph.num_edges, dtype=torch.float64),
        num_nodes=graph.num_nodes,
    )


class Change(NamedTuple):
    """Changed graphs, and which edges of the original ones they have.

    Args:
        graphs: One for each original graph.
        kept: ``[E]`` bool, of the edges of all original graphs.
    """

    graphs: list[Data]
    kept: Tensor


def jittered(graphs: list[Data], epsilon: float, seed: int = 0) -> Change:
    """The graphs with weights 1 + ε z for z ~ N(0, 1), at least 0.01, one per edge.

    The z are the same for each ε.
    """
    random = np.random.default_rng(seed)
    changed = []
    for graph in graphs:
        number, count = _undirected_edges(graph)
        noise = torch.from_numpy(random.standard_normal(count))[number]
        weight = (1 + epsilon * noise).clamp(min=0.01)
        changed.append(
            Data(edge_index=graph.edge_index, edge_weight=weight, num_nodes=graph.num_nodes)
        )
    return Change(changed, torch.ones(sum(g.num_edges for g in graphs), dtype=torch.bool))


def without_an_edge(graphs: list[Data], seed: int = 0) -> Change:
    """The graphs with one edge less, drawn uniformly; a part of the graph may be cut off by it."""
    random = np.random.default_rng(seed)
    changed, masks = [], []
    for graph in graphs:
        number, count = _undirected_edges(graph)
        kept = number != int(random.integers(count))
        changed.append(
            Data(
                edge_index=graph.edge_index[:, kept],
                edge_weight=graph.edge_weight[kept],
                num_nodes=graph.num_nodes,
            )
        )
        masks.append(kept)
    return Change(changed, torch.cat(masks))


def _undirected_edges(graph: Data) -> tuple[Tensor, int]:
    """The number of the undirected edge that each edge is a direction of, and how many there are."""
    ends = graph.edge_index.sort(dim=0).values
    unique, number = ends.unique(dim=1, return_inverse=True)
    return number, unique.shape[1]


def laplacians(batch: Batch) -> Tensor:
    """``[B, n, n]`` the symmetric Laplacians I − D^(-1/2) A D^(-1/2), zero for isolated nodes and padding."""
    adjacency = to_dense_adj(batch.edge_index, batch.batch, batch.edge_weight)
    degree = adjacency.sum(-1)
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
    return torch.diag_embed((degree > 0).double()) - scale[:, :, None] * adjacency * scale[:, None]


def gaps(eigenvalues: Tensor, sizes: Tensor, k: int | None) -> tuple[Tensor, Tensor]:
    """The gap at which k cuts the spectrum, and the smallest one between the first k eigenvalues.

    Args:
        eigenvalues: ``[B, n]``, ascending, padded.
        sizes: ``[B]`` numbers of nodes.
        k: Number of eigenvectors; None takes all.

    Returns:
        Twice ``[B]``. Where nothing is cut or there is one eigenvalue only, the gap is infinite.
    """
    differences = eigenvalues.diff(dim=1)
    differences[torch.arange(differences.shape[1]) >= sizes[:, None] - 1] = torch.inf
    beyond = torch.full_like(eigenvalues[:, :1], torch.inf)
    last = differences.shape[1] if k is None else min(k - 1, differences.shape[1])
    inside = torch.cat([differences[:, :last], beyond], dim=1)
    cut = torch.cat([differences, beyond], dim=1)[:, -1 if k is None else last]
    return cut, inside.min(dim=1).values
