"""Encodings by a graph network on random or basis inputs (PEARL)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.linalg.walks.propagation import PropagationOperator
from graphpe.nn.blocks import Normalization, check_positive, normalization
from graphpe.nn.columns import NodeColumns, node_columns
from graphpe.nn.edges import with_read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.random_features.base import Distribution, RandomFeatureEncoder
from graphpe.nn.encoders.random_features.operators import (
    SparseMatrix,
    check_operators,
    fixed_operator,
)
from graphpe.nn.layout import GraphLayout, NodePairs, graph_layout, node_pairs
from graphpe.nn.pairs.pair_gin import PairGIN
from graphpe.nn.rows import apply_to_rows
from graphpe.nn.sums import sum_by_group
from graphpe.ragged import ragged_arange


class RandomPEARL(RandomFeatureEncoder):
    r"""Encodings by a graph network on random inputs (R-PEARL).

    .. math::
        p_i = A \sum_{m=1}^{M} \mathrm{GIN}(x_{\cdot m})_i + a, \qquad
        x_{im} = \mathrm{ReLU}\big(\mathrm{norm}(B\, [w_m, L w_m, \ldots, L^{K-1} w_m]_i + b)\big)

    where :math:`w_1, \ldots, w_M` are vectors of random numbers, one per node, new at each forward pass in training,
    and the GIN passes messages along the edges for each m by itself. With K = 1 there is no filter by L.

    Time and memory grow with ``N * num_samples``.

    Published for ZINC: ``num_samples=120, num_powers=1, num_layers=8, norm="batch"``; for Peptides-struct
    ``num_samples=200, num_powers=4``.

    Args:
        out_channels: Width of the output.
        num_samples: Number of random vectors M.
        num_powers: Number of vectors K that a random vector is turned into.
        operator: L, one of ``"laplacian"`` (symmetric normalised), ``"sym"``, ``"sym-loops"`` and ``"walk"``, see
            :func:`~graphpe.nn.encoders.random_features.operators.fixed_operator`.
        channels: Width of :math:`x_{im}`, and of the sum.
        hidden_channels: Width of the hidden layers of the GIN.
        num_layers: Number of GIN layers.
        norm: Normalisation, over the rows (i, m). ``"batch"`` is as published.
        distribution: Of the random numbers: ``"normal"`` or ``"rademacher"``.
        eval_samples: Number of draws of M vectors of which the mean is taken in evaluation.
        seed: Seed of the numbers in evaluation.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` for invalid edge weights.

    References:
        Kanatsoulis et al., "Learning Efficient Positional Encodings with Graph Neural Networks",
        https://arxiv.org/abs/2502.01122.
    """

    def __init__(
        self,
        out_channels: int,
        num_samples: int = 32,
        num_powers: int = 4,
        operator: PropagationOperator = "laplacian",
        channels: int = 37,
        hidden_channels: int = 40,
        num_layers: int = 4,
        norm: Normalization = "layer",
        distribution: Distribution = "normal",
        eval_samples: int = 1,
        seed: int = 0,
    ) -> None:
        check_positive(num_samples=num_samples)
        super().__init__(num_samples, distribution, eval_samples, seed)
        self.network = _ColumnNetwork(
            num_powers, operator, channels, hidden_channels, out_channels, num_layers, norm
        )
        self.out_channels = out_channels

    def encode(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        samples = features.size(1)
        columns = features.flatten(1)
        matrix = fixed_operator(data, layout, self.network.operator, columns.dtype)
        counts = torch.full_like(layout.sizes, columns.size(1))
        powers = self.network.powers(columns, matrix).flatten(0, 1)
        return self.network(powers, node_columns(layout, counts), data, 1 / samples)


class BasisPEARL(FieldEncoder):
    r"""Encodings by a graph network on the standard basis (B-PEARL).

    .. math::
        p_i = A \sum_{j=1}^{n} \mathrm{GIN}(x_{\cdot j})_i + a, \qquad
        x_{ij} = \mathrm{ReLU}\big(\mathrm{norm}(B\, [I, L, \ldots, L^{K-1}]_{ij} + b)\big)

    where the GIN passes messages along the edges for each column j by itself. Nothing is random: the output is
    equivariant to permutations of the nodes.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch, and of the powers with :math:`\sum n e`.

    Published for ZINC: ``num_powers=7, num_layers=8, norm="batch"``.

    Args:
        out_channels: Width of the output.
        num_powers: Number of powers K of L, the identity included.
        operator: L, as for :class:`RandomPEARL`.
        channels: Width of :math:`x_{ij}`, and of the sum.
        hidden_channels: Width of the hidden layers of the GIN.
        num_layers: Number of GIN layers.
        norm: Normalisation, over the pairs (i, j). ``"layer"`` is per pair, so graphs of a batch do not mix;
            ``"batch"`` is as published.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` for invalid edge weights.

    References:
        Kanatsoulis et al., "Learning Efficient Positional Encodings with Graph Neural Networks",
        https://arxiv.org/abs/2502.01122.
    """

    requires = ()

    def __init__(
        self,
        out_channels: int,
        num_powers: int = 7,
        operator: PropagationOperator = "laplacian",
        channels: int = 37,
        hidden_channels: int = 40,
        num_layers: int = 4,
        norm: Normalization = "layer",
    ) -> None:
        super().__init__()
        self.network = _ColumnNetwork(
            num_powers, operator, channels, hidden_channels, out_channels, num_layers, norm
        )
        self.out_channels = out_channels
        self.mixes_graphs_in_training = norm == "batch"

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        data = with_read_edges(data, layout)
        pairs = node_pairs(layout)
        dtype = self.network.linear.weight.dtype
        matrix = fixed_operator(data, layout, self.network.operator, dtype)
        identity = (pairs.source == pairs.target).to(dtype)
        powers = self.network.powers(identity, _on_pairs(matrix, layout, pairs))
        return self.network(powers, pairs, data, 1.0)


class _ColumnNetwork(nn.Module):
    """The network of both: embeds the powers of each row (node, column), and sums over the columns after a GIN."""

    def __init__(
        self,
        num_powers: int,
        operator: PropagationOperator,
        channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        norm: Normalization,
    ) -> None:
        super().__init__()
        check_positive(
            out_channels=out_channels,
            num_powers=num_powers,
            channels=channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
        )
        check_operators(operator)
        self.num_powers = num_powers
        self.operator = operator
        self.embedding = nn.Sequential(
            nn.Linear(num_powers, channels),
            normalization(norm, channels, "channels"),
            nn.ReLU(inplace=True),
        )
        self.gin = PairGIN(channels, hidden_channels, channels, num_layers, norm)
        self.linear = nn.Linear(channels, out_channels)

    def powers(self, x: Tensor, matrix: SparseMatrix) -> Tensor:
        """``[..., num_powers]`` x, L x, ..., L^{K-1} x."""
        powers = [x]
        for _ in range(self.num_powers - 1):
            powers.append(matrix @ powers[-1])
        return torch.stack(powers, dim=-1)

    def forward(
        self, powers: Tensor, columns: NodeColumns | NodePairs, data: Data, factor: float
    ) -> Tensor:
        """Encodes rows (node, column).

        Args:
            powers: ``[R, num_powers]``.
            columns: The rows.
            data: The batch.
            factor: What the sum over the columns is multiplied by.
        """
        mixes_rows = self.training and self.gin.mixes_rows_in_training
        x = apply_to_rows(self.embedding, powers, mixes_rows)
        x = self.gin(x, columns, data.edge_index)
        return self.linear(factor * sum_by_group(x, columns.source, len(columns.start)))


def _on_pairs(matrix: SparseMatrix, layout: GraphLayout, pairs: NodePairs) -> SparseMatrix:
    """The matrix for vectors of node pairs (i, j), each j by itself: (L X)_ij = Σ_u L_iu X_uj."""
    sizes = layout.sizes[layout.batch]
    entry, column = ragged_arange(sizes[matrix.row])
    return SparseMatrix(
        pairs.start[matrix.row][entry] + column,
        pairs.start[matrix.column][entry] + column,
        matrix.value[entry],
    )
