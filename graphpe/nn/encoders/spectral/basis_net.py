"""BasisNet: networks on the projectors onto eigenspaces, which don't depend on a basis."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.checks import require_boolean
from graphpe.fields import Symmetry
from graphpe.nn.blocks import (
    Normalization,
    check_positive,
    has_batch_normalization,
    normalization,
)
from graphpe.nn.columns import NodeColumns, node_columns
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.eigenspaces import Eigenspaces, find_eigenspaces
from graphpe.nn.encoders.spectral.laplacian_fields import laplacian_requirements
from graphpe.nn.encoders.spectral.set_pooling import ColumnPooling, Pooling, SetLayer
from graphpe.nn.layout import GraphLayout, graph_layout

# Numbers that a projector gives each node.
_CONTRACTIONS = 4


class BasisNet(FieldEncoder):
    r"""Encodes the projector :math:`P_l = V_l V_l^\top` of each eigenspace, whatever basis :math:`V_l` it comes in.

    .. math::
        p = A\, \rho\big( [\varphi_{d_l}(n P_l)]_l \big) + a, \qquad
        \varphi_d(M)_i = \mathrm{IGN}_d\Big( M_{ii},\ \tfrac{1}{n} \sum_j M_{ij},\
        \tfrac{1}{n} \sum_j M_{jj},\ \tfrac{1}{n^2} \sum_{jk} M_{jk} \Big)

    with weights of its own for each multiplicity :math:`d_l`. These four numbers are all that a linear equivariant map
    can take from a symmetric matrix to the nodes (the published five count rows and columns). They come from the
    eigenvectors directly, without the :math:`n \times n` matrices; the factor n makes them about 1, whatever the size
    of the graph. The layers after the first are W₁ x_i + W₂ mean_j x_j + b over the nodes of the graph, with ReLU
    between them; :math:`\rho` is a network on the vectors that a node has then, one per eigenspace.

    The output doesn't change when bases of eigenspaces are rotated, signs included. Neighbouring eigenvalues are equal
    if they differ by at most 1e-5 of the larger one, or by 1e-7 of the largest that the graph has in the field. Where a
    small change of the graph splits an eigenspace, the output jumps; that of :class:`~graphpe.nn.SPE` does not. Where
    ``k`` cuts an eigenspace, the field holds an arbitrary part of it, on which the output depends; at ``k=8`` this
    concerns about 10 % of molecules. ``AddLaplacianEigenvectorPE(k, complete_eigenspaces=True)`` leaves such an
    eigenspace out.

    Time and memory grow with :math:`\sum n \min(n, k)` over the graphs of a batch; with ``rho="concatenate"``, also
    with :math:`N k` times ``phi_channels`` for all N nodes, however small their graphs.

    The published figures (ZINC: 0.155) come from code in which, on a GPU, the weights of the IGN were no parameters and
    stayed as they were drawn, nodes were mixed with channels where an eigenvalue is repeated, and multiplicities over
    five were an error. Here none of this is so, and the figures don't apply. Published sizes: ``k=8,
    hidden_channels=120, norm="batch", eigenvalues=False``.

    Args:
        k: Number of eigenvectors; also the width of ρ's output, as published.
        out_channels: Width of the output.
        hidden_channels: Width of the hidden layers of φ and ρ.
        num_layers: Number of layers of φ.
        phi_channels: Width of φ's output.
        max_multiplicity: Number of networks φ; eigenspaces of more dimensions share the last one.
        rho: ``"concatenate"`` the vectors of a node (the place of an eigenspace matters), or take their ``"sum"``,
            before a perceptron; ``"deepsets"`` and ``"transformer"`` let the vectors of a node see each other before
            the sum.
        rho_layers: Number of linear layers of ρ's perceptron.
        set_layers: Number of layers before the sum, for ``rho="deepsets"`` and ``"transformer"``.
        heads: Number of attention heads, for ``rho="transformer"``.
        eigenvalues: Whether φ also sees the eigenvalue, the mean of those that are equal up to rounding.
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

    invariant_to: ClassVar[frozenset[Symmetry]] = frozenset({"sign", "basis"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 64,
        num_layers: int = 3,
        phi_channels: int = 16,
        max_multiplicity: int = 5,
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
            max_multiplicity=max_multiplicity,
            rho_layers=rho_layers,
        )
        require_boolean("eigenvalues", eigenvalues)
        self.requires = laplacian_requirements(k, field, eigenvalue_field, count_field)
        self.k = k
        self.out_channels = out_channels
        self.eigenvalues = eigenvalues
        in_channels = _CONTRACTIONS + 1 if eigenvalues else _CONTRACTIONS
        self.phi = nn.ModuleList(
            _EigenspaceNetwork(in_channels, hidden_channels, phi_channels, num_layers, norm)
            for _ in range(max_multiplicity)
        )
        self.rho = ColumnPooling(
            rho, k, phi_channels, hidden_channels, k, rho_layers, norm, set_layers, heads
        )
        self.linear = nn.Linear(k, out_channels)
        self.mixes_graphs_in_training = has_batch_normalization(self)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        vectors, count, eigenvalues = self.read(data, layout)
        count = count[:, 0]
        # As they are stored: in the precision of the parameters, different eigenvalues may be equal.
        stored = self.requires[2].read(data, layout, type(self).__name__)
        spaces = find_eigenspaces(stored, count)
        columns = node_columns(layout, spaces.counts)
        space = spaces.start[layout.batch[columns.source]] + columns.column
        x = contract_projectors(vectors, count, spaces, layout, columns)
        if self.eigenvalues:
            x = torch.cat([x, spaces.mean(eigenvalues)[space, None]], dim=1)
        return self.linear(self.rho(self._encode_eigenspaces(x, space, spaces), columns))

    def _encode_eigenspaces(self, x: Tensor, space: Tensor, spaces: Eigenspaces) -> Tensor:
        """φ of each eigenspace, by the network for its multiplicity."""
        network_number = spaces.dimension.clamp(max=len(self.phi))[space] - 1
        encoded, rows = [], []
        for number, network in enumerate(self.phi):
            row = (network_number == number).nonzero()[:, 0]
            encoded.append(network(x[row], space[row], len(spaces)))
            rows.append(row)
        return torch.cat(encoded)[torch.argsort(torch.cat(rows))]


class _EigenspaceNetwork(nn.Module):
    """An IGN that continues from the contractions of a matrix: a linear layer, then set layers over the nodes."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        norm: Normalization,
    ) -> None:
        super().__init__()
        hidden = [hidden_channels] * (num_layers - 1)
        widths = [*hidden, out_channels]
        self.linear = nn.Linear(in_channels, widths[0])
        self.layers = nn.ModuleList(
            SetLayer(before, after) for before, after in zip(hidden, widths[1:], strict=True)
        )
        self.norms = nn.ModuleList(normalization(norm, width) for width in hidden)

    def forward(self, x: Tensor, space: Tensor, num_spaces: int) -> Tensor:
        """Maps ``[R, in_channels]``, one row per node and eigenspace, to ``[R, out_channels]``."""
        x = self.linear(x)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = layer(norm(x).relu(), space, num_spaces)
        return x


def contract_projectors(
    vectors: Tensor, count: Tensor, spaces: Eigenspaces, layout: GraphLayout, columns: NodeColumns
) -> Tensor:
    r"""Computes what a node can take linearly from the matrices :math:`M = n V V^\top` of the eigenspaces.

    Args:
        vectors: ``[N, k]`` V of all eigenspaces of a graph.
        count: ``[B]`` number of columns that are not padding.
        spaces: The eigenspaces.
        layout: Where the graphs lie.
        columns: The nodes i and the eigenspaces of their graph.

    Returns:
        ``[R, 4]``, one row per node and eigenspace: :math:`M_{ii}` and the means of row i, of the diagonal, and of the
        whole matrix.
    """
    entries = node_columns(layout, count)
    node, graph = entries.source, layout.batch[entries.source]
    sizes = layout.sizes.to(vectors.dtype)
    values = vectors[node, entries.column] * sizes.sqrt()[graph]
    space = spaces.of_column[graph, entries.column]
    row = columns.start[node] + space - spaces.start[graph]
    diagonal = scatter(values.square(), row, dim_size=len(columns))

    k = vectors.size(1)
    column = graph * k + entries.column
    mean = scatter(values, column, dim_size=layout.num_graphs * k, reduce="mean")
    row_mean = scatter(values * mean[column], row, dim_size=len(columns))

    row_space = spaces.start[layout.batch[columns.source]] + columns.column
    of_matrix = scatter(
        torch.stack([diagonal, row_mean], dim=1), row_space, dim_size=len(spaces), reduce="mean"
    )
    return torch.cat([diagonal[:, None], row_mean[:, None], of_matrix[row_space]], dim=1)
