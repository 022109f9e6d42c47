"""Networks on the pairs of nodes of each graph: the ρ of SPE."""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from graphpe.nn.blocks import Normalization, mlp, normalization
from graphpe.nn.pairs.neighbor_rows import NodeRows
from graphpe.nn.pairs.pair_gin import PairGIN, after_first_weight
from graphpe.nn.rows import apply_to_rows
from graphpe.nn.sums import sum_by_group

PairNetworkName = Literal["gin", "mlp", "gin_deepsets"]


class PairMLP(nn.Module):
    """Maps each pair (i, j) by the same multi-layer perceptron.

    Args:
        in_channels: Width of a pair.
        hidden_channels: Width of the hidden layers.
        out_channels: Width of the output.
        num_layers: Number of linear layers.
        norm: Normalisation of the hidden layers.
    """

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
        self.mlp = mlp([in_channels, *hidden, out_channels], norm)
        self.mixes_rows_in_training = norm == "batch"

    def forward(self, x: Tensor, pairs: NodeRows, edge_index: Tensor | None) -> Tensor:
        """Maps ``[P, in_channels]`` to ``[P, out_channels]``."""
        return apply_to_rows(self.mlp, x, self.training and self.mixes_rows_in_training)

    @property
    def first_weight(self) -> Tensor:
        """``[hidden_channels, in_channels]`` weights W of the first linear layer."""
        return self.mlp.lins[0].weight

    def forward_mapped(self, x: Tensor, pairs: NodeRows, edge_index: Tensor | None) -> Tensor:
        """The same for rows that are mapped by ``first_weight`` already, x Wᵀ."""
        network = partial(after_first_weight, self.mlp)
        return apply_to_rows(network, x, self.training and self.mixes_rows_in_training)


class PairGINDeepSets(nn.Module):
    r"""A GIN, then DeepSets over the columns of each node, so that column j of a node sees its other columns.

    .. math::
        z = \mathrm{GIN}(x), \qquad
        u_{ij} = \mathrm{ReLU}\big(\mathrm{norm}(W_1 z_{ij} + b_1 + U_1 \bar z_i)\big), \qquad
        y_{ij} = W_2 u_{ij} + b_2 + U_2 \bar u_i

    where :math:`\bar z_i` is the mean of :math:`z_{ij}` over the columns j: of a sum, the size would grow with the
    graph.

    Args:
        in_channels: Width of a pair.
        hidden_channels: Width of the hidden layers.
        out_channels: Width of the output.
        num_layers: Number of GIN layers.
        norm: Normalisation in the perceptrons and between the layers of DeepSets, over the pairs (i, j).
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        norm: Normalization,
    ) -> None:
        super().__init__()
        self.gin = PairGIN(in_channels, hidden_channels, hidden_channels, num_layers, norm)
        widths = (hidden_channels, out_channels)
        self.own = nn.ModuleList(nn.Linear(hidden_channels, width) for width in widths)
        self.mean = nn.ModuleList(nn.Linear(hidden_channels, width, bias=False) for width in widths)
        self.norm = normalization(norm, hidden_channels)

    def forward(self, x: Tensor, pairs: NodeRows, edge_index: Tensor) -> Tensor:
        """Maps ``[P, in_channels]`` to ``[P, out_channels]``."""
        return self._mix_columns(self.gin(x, pairs, edge_index), pairs)

    @property
    def first_weight(self) -> Tensor:
        """``[hidden_channels, in_channels]`` weights W of the first linear layer."""
        return self.gin.first_weight

    def forward_mapped(self, x: Tensor, pairs: NodeRows, edge_index: Tensor) -> Tensor:
        """The same for rows that are mapped by ``first_weight`` already, x Wᵀ."""
        return self._mix_columns(self.gin.forward_mapped(x, pairs, edge_index), pairs)

    def _mix_columns(self, x: Tensor, pairs: NodeRows) -> Tensor:
        hidden = self.norm(self._deep_sets(0, x, pairs)).relu()
        return self._deep_sets(1, hidden, pairs)

    def _deep_sets(self, layer: int, x: Tensor, pairs: NodeRows) -> Tensor:
        num_nodes = len(pairs.start)
        columns = torch.bincount(pairs.source, minlength=num_nodes).clamp(min=1)
        mean = sum_by_group(x, pairs.source, num_nodes) / columns[:, None].to(x.dtype)
        return self.own[layer](x) + self.mean[layer](mean)[pairs.source]


PAIR_NETWORKS: dict[PairNetworkName, type[PairGIN] | type[PairMLP] | type[PairGINDeepSets]] = {
    "gin": PairGIN,
    "mlp": PairMLP,
    "gin_deepsets": PairGINDeepSets,
}
