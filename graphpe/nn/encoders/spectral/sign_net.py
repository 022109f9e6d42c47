"""SignNet: networks on eigenvectors that don't see their signs."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_boolean
from graphpe.fields import Symmetry
from graphpe.nn.blocks import Normalization, check_positive
from graphpe.nn.columns import node_columns
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.laplacian_fields import laplacian_requirements
from graphpe.nn.encoders.spectral.set_pooling import ColumnPooling, Pooling
from graphpe.nn.layout import graph_layout
from graphpe.nn.pairs.pair_gin import PairGIN


class SignNet(FieldEncoder):
    r"""Encodes each eigenvector with both of its signs.

    .. math:: p = A\, \rho\big( [\varphi(v_l, \lambda_l) + \varphi(-v_l, \lambda_l)]_{l=1}^{k} \big) + a

    where :math:`\varphi` is a GIN on the graph, the same for all eigenvectors, and :math:`\rho` a network on the k
    vectors that a node has then. The output doesn't change with the signs of the eigenvectors, in training neither.
    Rotations inside the eigenspace of a repeated eigenvalue do change it (:class:`~graphpe.nn.BasisNet` and
    :class:`~graphpe.nn.SPE` are invariant to them), and so may a small change of the graph where eigenvalues are
    close. Columns are ragged lists, so that padding never enters a sum or a normalisation.

    Time and memory grow with :math:`2 \sum n \min(n, k)` over the graphs of a batch; with ``rho="concatenate"``, also
    with :math:`N k` times ``phi_channels`` for all N nodes, however small their graphs.

    Published for ZINC with the networks of SPE: ``k=8, hidden_channels=120, num_layers=8, phi_channels=4,
    rho="concatenate", rho_layers=8, norm="batch", eigenvalues=False``, and all eigenvectors, ``k=37``, with
    ``phi_channels=120, rho="sum"``. Their GIN normalises between its layers as well, which has 1,680 more parameters;
    here there is nothing.

    Args:
        k: Number of eigenvectors; also the width of ρ's output, as published.
        out_channels: Width of the output.
        hidden_channels: Width of the hidden layers of φ and ρ.
        num_layers: Number of GIN layers of φ.
        phi_channels: Width of φ's output.
        rho: ``"concatenate"`` the vectors of a node (the place of a column matters), or take their ``"sum"``, before a
            perceptron; ``"deepsets"`` and ``"transformer"`` let the vectors of a node see each other before the sum.
        rho_layers: Number of linear layers of ρ's perceptron.
        set_layers: Number of layers before the sum, for ``rho="deepsets"`` and ``"transformer"``.
        heads: Number of attention heads, for ``rho="transformer"``.
        eigenvalues: Whether φ sees the eigenvalue of each eigenvector.
        norm: Normalisation in φ and ρ. ``"layer"`` is per row, so graphs of a batch do not mix; ``"batch"`` is as
            published.
        field: Name of the node field of eigenvectors ``[N, k]``.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit.

    References:
        Lim et al., "Sign and Basis Invariant Networks for Spectral Graph Representation Learning",
        https://arxiv.org/abs/2202.13013.
    """

    invariant_to: ClassVar[frozenset[Symmetry]] = frozenset({"sign"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 64,
        num_layers: int = 4,
        phi_channels: int = 16,
        rho: Pooling = "concatenate",
        rho_layers: int = 3,
        set_layers: int = 1,
        heads: int = 4,
        eigenvalues: bool = True,
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
            phi_channels=phi_channels,
            rho_layers=rho_layers,
        )
        require_boolean("eigenvalues", eigenvalues)
        self.requires = laplacian_requirements(k, field, eigenvalue_field, count_field, eigenvalues)
        self.k = k
        self.out_channels = out_channels
        self.mixes_graphs_in_training = norm == "batch"
        in_channels = 2 if eigenvalues else 1
        self.phi = PairGIN(in_channels, hidden_channels, phi_channels, num_layers, norm)
        self.rho = ColumnPooling(
            rho, k, phi_channels, hidden_channels, k, rho_layers, norm, set_layers, heads
        )
        self.linear = nn.Linear(k, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        vectors, count, *eigenvalues = self.read(data, layout)
        counts = count[:, 0]
        columns = node_columns(layout, counts)
        entries = vectors[columns.source, columns.column]
        # A column and its negative lie side by side. Both go through φ together, so that batch normalisation, too,
        # cannot tell the signs.
        x = torch.stack([entries, -entries], dim=1).view(-1, 1)
        if eigenvalues:
            own = eigenvalues[0][layout.batch[columns.source], columns.column]
            x = torch.cat([x, own.repeat_interleave(2)[:, None]], dim=1)
        encoded = self.phi(x, node_columns(layout, 2 * counts), read_edges(data, layout))
        both = encoded.view(-1, 2, encoded.size(1)).sum(1)
        return self.linear(self.rho(both, columns))
