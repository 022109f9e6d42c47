"""Stable and expressive positional encodings (SPE)."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.fields import Symmetry
from graphpe.nn.blocks import Normalization, check_positive, has_batch_normalization
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.eigenvalue_filters import (
    DeepSetsFilters,
    EigenvalueFilters,
    ElementwiseFilters,
    TransformerFilters,
    place_weights,
)
from graphpe.nn.encoders.spectral.laplacian_fields import laplacian_requirements
from graphpe.nn.encoders.spectral.pair_levels import PairLevel, from_pairs
from graphpe.nn.layout import GraphLayout, NodePairs, graph_layout, node_pairs
from graphpe.nn.pairs.pair_networks import PAIR_NETWORKS, PairNetworkName
from graphpe.nn.stacks import stacks_of

Phi = Literal["mlp", "deepsets", "transformer", "constant"]


class SPE(FieldEncoder):
    r"""Stable and expressive positional encodings from eigenvectors and eigenvalues.

    .. math::
        W_{ijm} = \sum_k V_{ik}\, \varphi_m(\lambda)_k\, V_{jk}, \qquad
        p_i = A \sum_j \rho(W)_{ij} + a

    where :math:`\varphi_1, \dots, \varphi_m` weigh the eigenpairs, :math:`\rho` is a network on the pairs of nodes
    of a graph and :math:`A, a` a linear layer. Pairs (i, j), or those that are edges, have
    :math:`p_{ij} = A \rho(W)_{ij} + a`. Equal eigenvalues get equal weights, so the encoding doesn't change when
    signs of eigenvectors change or a basis of an eigenspace is rotated; and close eigenvalues get close weights, so it
    is stable. Padding never enters a sum or a normalisation: pairs and eigenvalues are ragged lists.

    The basis is free only inside the ``k`` eigenvectors. Where ``k`` cuts an eigenspace, that is where the k-th
    eigenvalue equals the (k+1)-th, the field holds an arbitrary part of the eigenspace, and the encoding depends on
    which: two numberings of the same graph may be encoded differently. At ``k=8``, the trivial eigenvector included,
    this concerns about 10 % of molecules: 1,187 of the 12,000 of ZINC, 121 of the 1,128 of ogbg-molesol. ``k >= n``,
    for the number of nodes n of the largest graph, avoids it, and so does
    ``AddLaplacianEigenvectorPE(complete_eigenspaces=True)``, which leaves such a part out.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch; ρ's output alone has :math:`k \sum n^2`
    numbers.

    The published ZINC networks use ``k=37, num_filters=16, phi="mlp"`` with all eigenvectors, the trivial one
    included, and ``k=8, num_filters=6, phi="deepsets", phi_layers=4``; both with ``norm="batch"``. Their last
    DeepSets layer has a ReLU, which can make all weights zero for good; here it has none. For DrugOOD they use
    ``k=32``, in part with ``phi="constant"``.

    Args:
        k: Number of eigenpairs; also the width of ρ's output, as published.
        out_channels: Width of the output.
        hidden_channels: Width of ρ's hidden layers.
        num_layers: Number of GIN layers of ρ, or of linear layers for ``rho="mlp"``.
        num_filters: Number of weightings, m. None: 16, or 1 for ``phi="constant"``, where all would be the same.
        phi: ``"mlp"`` weighs an eigenvalue by itself; ``"deepsets"`` and ``"transformer"`` see all eigenvalues of the
            graph; ``"constant"`` is 1 for each eigenpair, and doesn't read eigenvalues. The sums of ``"deepsets"``, as
            published, make its weights grow like :math:`k^l` with its layers l; for ``k=64`` and 4 layers, a network
            converted by ``half()`` has no numbers so large (``torch.autocast`` is fine).
        phi_hidden_channels: Width of φ's hidden layers.
        phi_layers: Number of layers of φ.
        rho: ``"gin"`` passes messages along the edges of the graph, for each column j by itself; ``"mlp"`` looks at
            each pair by itself; ``"gin_deepsets"`` is a GIN, and then two layers of DeepSets over the columns of each
            node.
        level: What a row of the output describes: ``"node"``, ``"pair"`` (all pairs, row-major, as a pair field) or
            ``"edge"`` (those of ``edge_index``, in its order).
        norm: Normalisation in φ (for ``"mlp"`` and ``"transformer"``) and ρ. ``"layer"`` is per pair and per
            eigenvalue, so graphs of a batch do not mix; ``"batch"`` is as published.
        lipschitz: Bounds how fast each weight changes with its eigenvalue: a Lipschitz constant L of ``phi="mlp"``,
            whatever its parameters. φ then has no normalisation, since that has no such bound. None for no bound.
        field: Name of the node field of eigenvectors ``[N, k]``.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit, or if an edge has a
            node that isn't there or joins two graphs.

    References:
        Huang et al., "On the Stability of Expressive Positional Encodings for Graphs",
        https://arxiv.org/abs/2310.02579.
    """

    invariant_to: frozenset[Symmetry] = frozenset({"sign", "basis"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 128,
        num_layers: int = 8,
        num_filters: int | None = None,
        phi: Phi = "mlp",
        phi_hidden_channels: int = 16,
        phi_layers: int = 3,
        rho: PairNetworkName = "gin",
        norm: Normalization = "layer",
        field: str = "laplacian_eigenvector_pe",
        eigenvalue_field: str = "laplacian_eigenvalue",
        count_field: str = "laplacian_eigenvector_count",
        level: PairLevel = "node",
        lipschitz: float | None = None,
    ) -> None:
        super().__init__()
        require_choice("phi", phi, get_args(Phi))
        require_choice("rho", rho, list(PAIR_NETWORKS))
        require_choice("level", level, get_args(PairLevel))
        if num_filters is None:
            num_filters = 1 if phi == "constant" else 16
        check_positive(
            k=k,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_filters=num_filters,
            phi_hidden_channels=phi_hidden_channels,
            phi_layers=phi_layers,
        )
        self.requires = laplacian_requirements(
            k, field, eigenvalue_field, count_field, eigenvalues=phi != "constant"
        )
        self.out_channels = out_channels
        self.level = level
        self.phi = _filters(phi, num_filters, phi_hidden_channels, phi_layers, norm, lipschitz)
        self.rho = PAIR_NETWORKS[rho](num_filters, hidden_channels, k, num_layers, norm)
        self.uses_edges = rho != "mlp" or level == "edge"
        self.linear = nn.Linear(k, out_channels)
        self.mixes_graphs_in_training = has_batch_normalization(self)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        edge_index = read_edges(data, layout) if self.uses_edges else None
        pairs = node_pairs(layout)
        vectors, count, *eigenvalues = self.read(data, layout)
        valid = torch.arange(vectors.size(1), device=count.device) < count
        weights = self._weigh(valid, *eigenvalues)
        products = weighted_products(vectors, weights, layout, pairs)
        if torch.is_autocast_enabled(products.device.type):
            # Weights, and so products, may be too large for float16, in which a normalisation comes too late.
            with torch.autocast(products.device.type, enabled=False):
                mapped = nn.functional.linear(products, self.rho.first_weight)
            encoded = self.rho.forward_mapped(mapped, pairs, edge_index)
        else:
            encoded = self.rho(products, pairs, edge_index)
        return self.linear(from_pairs(encoded, self.level, layout, pairs, edge_index))

    def _weigh(self, valid: Tensor, eigenvalues: Tensor | None = None) -> Tensor:
        """φ of the eigenvalues ``[B, k]`` that are ``valid``; zero for others: ``[B, k, m]``."""
        if self.phi is None:
            return valid[..., None].to(self.linear.weight.dtype)
        graph = valid.nonzero()[:, 0]
        return place_weights(self.phi(eigenvalues[valid], graph, len(valid)), valid)


def _filters(
    phi: Phi,
    num_filters: int,
    hidden_channels: int,
    num_layers: int,
    norm: Normalization,
    lipschitz: float | None,
) -> EigenvalueFilters | None:
    """Builds φ; None for a constant."""
    if lipschitz is not None and phi != "mlp":
        raise ValueError(f"lipschitz is {lipschitz!r}, but it bounds phi='mlp' only, not {phi!r}")
    if phi == "constant":
        if num_filters > 1:
            raise ValueError(
                f"num_filters is {num_filters}, but the filters of phi='constant' are all the same; make it 1"
            )
        return None
    if phi == "deepsets":
        return DeepSetsFilters(num_filters, hidden_channels, num_layers)
    if phi == "transformer":
        return TransformerFilters(num_filters, hidden_channels, num_layers, norm)
    phi_norm = norm if lipschitz is None else "none"
    return ElementwiseFilters(num_filters, hidden_channels, num_layers, phi_norm, lipschitz)


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
        ``[P, m]`` in the dtype of the vectors, one row per pair; computed in float32 at least, since weights may be
        large.
    """
    dtype = torch.promote_types(vectors.dtype, torch.float32)
    wide, weights = vectors.to(dtype), weights.to(dtype)
    products, rows = [], []
    with torch.autocast(vectors.device.type, enabled=False):
        for stack in stacks_of(layout, pairs=True).stacks:
            columns = min(stack.rows.size(1), wide.size(1))  # no more eigenvectors than nodes
            padded = stack.gather(wide[:, :columns])
            own_weights = weights[layout.batch[stack.rows[:, 0]], :columns]
            weighted = torch.einsum("gik,gkm->gimk", padded, own_weights)
            products.append(torch.einsum("gimk,gjk->gijm", weighted, padded).flatten(0, 2))
            rows.append(stack.pairs.flatten())
    # All pairs with padding have the row P.
    stacked = torch.cat(products)
    by_row = stacked.new_empty(len(pairs) + 1, stacked.size(1))
    return by_row.index_copy_(0, torch.cat(rows), stacked)[:-1].to(vectors.dtype)
