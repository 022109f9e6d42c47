"""Stable and expressive positional encodings (SPE)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.fields import Symmetry
from graphpe.nn.blocks import Normalization, check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.encoders.spectral.eigenvalue_filters import DeepSetsFilters, ElementwiseFilters
from graphpe.nn.layout import GraphLayout, NodePairs, graph_layout, node_pairs
from graphpe.nn.pair_networks import PairGIN, PairMLP


class SPE(FieldEncoder):
    r"""Stable and expressive positional encodings from eigenvectors and eigenvalues.

    .. math::
        W_{ijm} = \sum_k V_{ik}\, \varphi_m(\lambda)_k\, V_{jk}, \qquad
        p_i = A \sum_j \rho(W)_{ij} + a

    where :math:`\varphi_1, \dots, \varphi_m` weigh the eigenpairs, :math:`\rho` is a network on the pairs of nodes
    of a graph and :math:`A, a` a linear layer. Equal eigenvalues get equal weights, so the encoding doesn't change when
    signs of eigenvectors change or a basis of an eigenspace is rotated; and close eigenvalues get close weights, so it
    is stable. Padding never enters a sum or a normalisation: pairs and eigenvalues are ragged lists.

    The basis is free only inside the ``k`` eigenvectors. Where ``k`` cuts an eigenspace, that is where the k-th
    eigenvalue equals the (k+1)-th, the field holds an arbitrary part of the eigenspace, and the encoding depends on
    which: two numberings of the same graph may be encoded differently. At ``k=8``, the trivial eigenvector included,
    this concerns about 10 % of molecules: 1,187 of the 12,000 of ZINC, 121 of the 1,128 of ogbg-molesol. ``k >= n``,
    for the number of nodes n of the largest graph, avoids it.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    The published ZINC networks use ``k=37, num_filters=16, phi="mlp"`` with all eigenvectors, the trivial one
    included, and ``k=8, num_filters=6, phi="deepsets", phi_layers=4``; both with ``norm="batch"``. Their last
    DeepSets layer has a ReLU, which can make all weights zero for good; here it has none.

    Args:
        k: Number of eigenpairs; also the width of ρ's output, as published.
        out_channels: Width of the output.
        hidden_channels: Width of ρ's hidden layers.
        num_layers: Number of GIN layers of ρ, or of linear layers for ``rho="mlp"``.
        num_filters: Number of weightings, m.
        phi: ``"mlp"`` weighs an eigenvalue by itself, ``"deepsets"`` sees all eigenvalues of the graph.
        phi_hidden_channels: Width of φ's hidden layers.
        phi_layers: Number of layers of φ.
        rho: ``"gin"`` passes messages along the edges of the graph, for each column j by itself; ``"mlp"`` looks at
            each pair by itself.
        norm: Normalisation in φ (for ``"mlp"``) and ρ. ``"layer"`` is per pair and per eigenvalue, so graphs of a batch
            do not mix; ``"batch"`` is as published.
        field: Name of the node field of eigenvectors ``[N, k]``.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    References:
        Huang et al., "On the Stability of Expressive Positional Encodings for Graphs",
        https://arxiv.org/abs/2310.02579.
    """

    invariant_to: ClassVar[frozenset[Symmetry]] = frozenset({"sign", "basis"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 128,
        num_layers: int = 8,
        num_filters: int = 16,
        phi: Literal["mlp", "deepsets"] = "mlp",
        phi_hidden_channels: int = 16,
        phi_layers: int = 3,
        rho: Literal["gin", "mlp"] = "gin",
        norm: Normalization = "layer",
        field: str = "laplacian_eigenvector_pe",
        eigenvalue_field: str = "laplacian_eigenvalue",
        count_field: str = "laplacian_eigenvector_count",
    ) -> None:
        super().__init__()
        check_positive(
            k=k,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_filters=num_filters,
            phi_hidden_channels=phi_hidden_channels,
            phi_layers=phi_layers,
        )
        transform = f"AddLaplacianEigenvectorPE(k={k})"
        self.requires = (
            FieldRequirement(field, "node", k, transform),
            FieldRequirement(eigenvalue_field, "graph", k, transform),
            FieldRequirement(count_field, "graph", 1, transform, "integer"),
        )
        self.out_channels = out_channels
        self.mixes_graphs_in_training = norm == "batch"
        if phi == "mlp":
            self.phi = ElementwiseFilters(num_filters, phi_hidden_channels, phi_layers, norm)
        elif phi == "deepsets":
            self.phi = DeepSetsFilters(num_filters, phi_hidden_channels, phi_layers)
        else:
            raise ValueError(f"phi is {phi!r}; it must be 'mlp' or 'deepsets'")
        if rho not in ("gin", "mlp"):
            raise ValueError(f"rho is {rho!r}; it must be 'gin' or 'mlp'")
        pair_network = PairGIN if rho == "gin" else PairMLP
        self.rho = pair_network(num_filters, hidden_channels, k, num_layers, norm)
        self.linear = nn.Linear(k, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        pairs = node_pairs(layout)
        vectors, eigenvalues, count = self.read(data, layout)
        weights = self._weigh(eigenvalues, count)
        products = weighted_products(vectors, weights, layout, pairs)
        encoded = self.rho(products, pairs, data.edge_index)
        return self.linear(scatter(encoded, pairs.source, dim_size=layout.num_nodes))

    def _weigh(self, eigenvalues: Tensor, count: Tensor) -> Tensor:
        """φ of the eigenvalues ``[B, k]``; zero for padding: ``[B, k, m]``."""
        valid = torch.arange(eigenvalues.size(1), device=count.device) < count
        graph = valid.nonzero()[:, 0]
        filtered = self.phi(eigenvalues[valid], graph, len(eigenvalues))
        weights = filtered.new_zeros(*eigenvalues.shape, filtered.size(1))
        weights[valid] = filtered
        return weights


def weighted_products(
    vectors: Tensor, weights: Tensor, layout: GraphLayout, pairs: NodePairs
) -> Tensor:
    r"""Computes :math:`W_{ijm} = \sum_k V_{ik} w_{gkm} V_{jk}` for all pairs (i, j) of each graph g.

    Args:
        vectors: ``[N, k]`` V, zero where a graph has fewer than k.
        weights: ``[B, k, m]`` w.
        layout: Where the graphs lie.
        pairs: The pairs.

    Returns:
        ``[P, m]``, one row per pair.
    """

    def product(graphs: Tensor, nodes: Tensor) -> Tensor:
        columns = min(nodes.size(1), vectors.size(1))  # a graph has no more eigenvectors than nodes
        padded = vectors[nodes, :columns]
        weighted = torch.einsum("gik,gkm->gimk", padded, weights[graphs, :columns])
        return torch.einsum("gimk,gjk->gijm", weighted, padded)

    return products_by_size(product, vectors.new_zeros(0, weights.size(2)), layout, pairs)


def products_by_size(
    product: Callable[[Tensor, Tensor], Tensor],
    empty: Tensor,
    layout: GraphLayout,
    pairs: NodePairs,
) -> Tensor:
    """Computes something for all pairs of nodes of each graph, many graphs at a time.

    Graphs are padded and multiplied together with others of similar size (within a factor of two), so that one large
    graph in a batch doesn't make all of them large.

    Args:
        product: From the numbers ``[g]`` of some graphs and their nodes ``[g, w]``, padded by any node, to
            ``[g, w, w, c]``; the rows and columns of padding are left out afterwards.
        empty: The result for no pairs, ``[0, c]``.
        layout: Where the graphs lie.
        pairs: The pairs.

    Returns:
        ``[P, c]``, one row per pair.
    """
    sizes = layout.sizes
    size_class = sizes.clamp(min=1).double().log2().ceil()
    products = [empty]
    rows = [sizes.new_zeros(0)]
    for number in size_class.unique().tolist():
        graphs = (size_class == number).nonzero()[:, 0]
        width = int(sizes[graphs].max())
        position = torch.arange(width, device=sizes.device)
        valid = position < sizes[graphs, None]
        nodes = torch.where(valid, layout.ptr[graphs, None] + position, 0)
        valid_pair = valid[:, :, None] & valid[:, None, :]
        products.append(product(graphs, nodes)[valid_pair])
        rows.append((pairs.start[nodes][..., None] + position)[valid_pair])
    return torch.cat(products)[torch.argsort(torch.cat(rows))]
