"""Small batches with features and fields that the tests of nn share."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_graphs
from graphpe.tasks import Features

FEATURES = Features(node_categories=(28,), edge_categories=(4,))


def spectrum(graph: Data, k: int) -> Data:
    """Attaches k eigenpairs of the symmetric normalised Laplacian by a dense solver, in float64."""
    n = graph.num_nodes
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    for u, v in graph.edge_index.t().tolist():
        if u != v:
            adjacency[u, v] += 1
    degree = adjacency.sum(1)
    scale = torch.where(degree > 0, degree, 1).rsqrt()
    laplacian = torch.diag((degree > 0).double()) - scale[:, None] * adjacency * scale
    values, vectors = torch.linalg.eigh(laplacian)
    count = min(n, k)
    graph.laplacian_eigenvalue = torch.zeros(1, k, dtype=torch.float64)
    graph.laplacian_eigenvalue[0, :count] = values[:count]
    graph.laplacian_eigenvector_pe = torch.zeros(n, k, dtype=torch.float64)
    graph.laplacian_eigenvector_pe[:, :count] = vectors[:, :count]
    graph.laplacian_eigenvector_count = torch.tensor([[count]])
    return graph


def featured(graph: Data) -> Data:
    """Attaches random categories in the shapes of PyG's ZINC: x is [n, 1], edge_attr is [e]."""
    graph.x = torch.randint(0, 28, (graph.num_nodes, 1))
    graph.edge_attr = torch.randint(0, 4, (graph.num_edges,))
    return graph


def graphs(k: int = 6) -> dict[str, Data]:
    """All small graphs with features and spectra."""
    return {name: spectrum(featured(graph), k) for name, graph in small_graphs().items()}


def batch_of(*names: str, k: int = 6) -> Batch:
    """A batch of the small graphs of these names, or of all."""
    every = graphs(k)
    return Batch.from_data_list([every[name] for name in names or every])


def count_parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def largest_error(a: Tensor, b: Tensor) -> float:
    """The largest difference, relative to the largest entry (or 1)."""
    assert a.shape == b.shape
    if not a.numel():
        return 0.0
    return ((a - b).abs().max() / b.abs().max().clamp(min=1)).item()
