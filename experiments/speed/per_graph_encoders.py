"""SPE and SignNet as published code computes them: graph by graph, and padded. What graphpe's are measured against.

Written from the formulas, with the layers and weights of graphpe's encoders, so that the outputs are the same. Unlike
in the published code, what stands for padding is left out of sums over eigenvalues and eigenvectors, or the outputs
would not be the same; that takes next to no time. Fields have their default names.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.utils import unbatch

from graphpe.nn import SPE
from graphpe.nn.encoders.spectral import SignNet
from graphpe.nn.encoders.spectral.eigenvalue_filters import DeepSetsFilters, ElementwiseFilters
from graphpe.nn.pairs.pair_networks import PairGIN


class PaddedSPE(nn.Module):
    """The matrices W of SPE in a loop over graphs, padded to as many columns as the largest graph has nodes.

    Args:
        encoder: Whose weights are used; with ``rho="gin"``, and without batch normalisation, which sees padding.
    """

    def __init__(self, encoder: SPE) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: Data) -> Tensor:
        weights = weigh(self.encoder, batch)
        vectors_of = unbatch(batch.laplacian_eigenvector_pe, graph_numbers(batch))
        width = max(map(len, vectors_of))
        rows, valid = [], []
        for own, weight in zip(vectors_of, weights, strict=True):
            products = own @ weight.t().diag_embed() @ own.t()  # [m, n, n]
            missing = width - len(own)
            rows.append(nn.functional.pad(products.permute(1, 2, 0), (0, 0, 0, missing)))
            valid.append((torch.arange(width) < len(own)).expand(len(own), -1))
        x = padded_gin(self.encoder.rho, torch.cat(rows), batch.edge_index)
        return self.encoder.linear((x * torch.cat(valid)[..., None]).sum(1))


class PaddedSignNet(nn.Module):
    """φ of SignNet on k columns for every node, once for the eigenvectors and once for their negatives.

    Args:
        encoder: Whose weights are used; without eigenvalues, with ``rho="concatenate"`` or ``"sum"``, and without
            batch normalisation, which sees padding.
    """

    def __init__(self, encoder: SignNet) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: Data) -> Tensor:
        vectors = batch.laplacian_eigenvector_pe
        x = vectors[..., None]  # [N, k, 1]
        both = padded_gin(self.encoder.phi, x, batch.edge_index)
        both = both + padded_gin(self.encoder.phi, -x, batch.edge_index)
        count = batch.laplacian_eigenvector_count[graph_numbers(batch)]
        both = both * (torch.arange(vectors.size(1)) < count)[..., None]
        pooling = self.encoder.rho
        pooled = both.flatten(1) if pooling.kind == "concatenate" else both.sum(1)
        return self.encoder.linear(pooling.mlp(pooled))


class OneGraphAtATime(nn.Module):
    """Applies a network to each graph of a batch by itself, so that nothing is padded to the largest graph.

    Args:
        network: From a graph to one row per node.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> Tensor:
        return torch.cat([self.network(data) for data in batch.to_data_list()])


def padded_gin(network: PairGIN, x: Tensor, edge_index: Tensor) -> Tensor:
    """Maps ``[N, columns, c]``: messages are passed between nodes, for each column by itself."""
    source, target = edge_index
    for epsilon, mlp in zip(network.epsilon, network.mlps, strict=True):
        neighbors = torch.zeros_like(x).index_add(0, target, x[source])
        x = mlp((1 + epsilon) * x + neighbors)
    return x


def weigh(encoder: SPE, batch: Data) -> Tensor:
    """φ of the eigenvalues, padded, one network after the other: ``[B, k, m]``."""
    eigenvalues = batch.laplacian_eigenvalue
    valid = torch.arange(eigenvalues.size(1)) < batch.laplacian_eigenvector_count
    x, valid = eigenvalues[..., None], valid[..., None]  # [B, k, 1]
    filters = range(encoder.rho.mlps[0].lins[0].in_channels)
    if isinstance(encoder.phi, ElementwiseFilters):
        weights = [elementwise_filter(encoder.phi, m, x) for m in filters]
    else:
        weights = [deep_sets_filter(encoder.phi, m, x, valid) for m in filters]
    return torch.cat(weights, dim=2)


def elementwise_filter(filters: ElementwiseFilters, m: int, x: Tensor) -> Tensor:
    """Network m on each eigenvalue."""
    *hidden, last = filters.linears
    for linear, norm in zip(hidden, filters.norms, strict=True):
        x = x @ linear.weight[m] + linear.bias[m]
        x = nn.functional.layer_norm(x, x.shape[-1:], norm.weight[m, 0], norm.bias[m, 0]).relu()
    return x @ last.weight[m] + last.bias[m]


def deep_sets_filter(filters: DeepSetsFilters, m: int, x: Tensor, valid: Tensor) -> Tensor:
    """Network m on the eigenvalues of each graph."""
    for layer, (own, total) in enumerate(zip(filters.own, filters.total, strict=True)):
        x = x.relu() if layer else x
        sums = (x * valid).sum(1, keepdim=True)
        x = x @ own.weight[m] + own.bias[m] + sums @ total.weight[m]
    return x


def graph_numbers(data: Data) -> Tensor:
    """The graph of each node, in a batch or in a single graph."""
    if data.get("batch") is None:
        return torch.zeros(data.num_nodes, dtype=torch.long)
    return data.batch
