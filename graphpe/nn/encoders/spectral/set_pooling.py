"""From the ragged columns of a node to one vector: the ρ of SignNet and BasisNet."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from graphpe.checks import require_choice
from graphpe.nn.blocks import Normalization, check_layer_norm, check_positive, mlp
from graphpe.nn.columns import NodeColumns
from graphpe.nn.sums import mean_by_group, sum_by_group

Pooling = Literal["concatenate", "sum", "deepsets", "transformer"]

# A GPU's attention kernels refuse longer batches (https://github.com/pytorch/pytorch/issues/142228).
_MOST_NODES = 65535


class ColumnPooling(nn.Module):
    r"""Maps the vectors :math:`x_{i1}, \dots, x_{ic}` of the columns of each node i to one vector.

    - ``"concatenate"``: :math:`\mathrm{MLP}(x_{i1}, \dots, x_{ik})`, with zeros where there are fewer than k columns.
    - ``"sum"``: :math:`\mathrm{MLP}(\sum_l x_{il})`.
    - ``"deepsets"``: the same after layers
      :math:`x_{il} \leftarrow \mathrm{ReLU}(W_1 x_{il} + W_2 \sum_m x_{im} / c + b)`.
    - ``"transformer"``: the same after Transformer layers, in which the columns of a node attend to each other.

    A node without columns is the MLP of zeros.

    Args:
        kind: As above.
        k: Largest number of columns.
        in_channels: Width of a column.
        hidden_channels: Width of the hidden layers of the MLP and of the layers before it.
        out_channels: Width of the output.
        num_layers: Number of linear layers of the MLP.
        norm: Normalisation in the MLP; the layers before it have LayerNorm or none.
        set_layers: Number of layers before the sum, for ``"deepsets"`` and ``"transformer"``.
        heads: Number of attention heads, for ``"transformer"``.
    """

    def __init__(
        self,
        kind: Pooling,
        k: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        norm: Normalization,
        set_layers: int = 1,
        heads: int = 4,
    ) -> None:
        super().__init__()
        require_choice("rho", kind, get_args(Pooling))
        check_positive(set_layers=set_layers, heads=heads)
        self.kind = kind
        self.k = k
        width = hidden_channels
        self.layers = nn.ModuleList()
        if kind == "concatenate":
            width = k * in_channels
        elif kind == "sum":
            width = in_channels
        elif kind == "deepsets":
            widths = [in_channels] + [hidden_channels] * (set_layers - 1)
            self.layers.extend(_DeepSetsLayer(before, hidden_channels) for before in widths)
        else:
            self.layers.append(_RowLinear(in_channels, hidden_channels))
            self.layers.extend(_ColumnAttention(hidden_channels, heads) for _ in range(set_layers))
        self.mlp = mlp([width, *[hidden_channels] * (num_layers - 1), out_channels], norm)

    def forward(self, x: Tensor, columns: NodeColumns) -> Tensor:
        """Maps ``[R, in_channels]``, one row per column of each node, to ``[N, out_channels]``."""
        num_nodes = len(columns.start)
        if self.kind == "concatenate":
            slots = x.new_zeros(num_nodes, self.k, x.size(1))
            slots = slots.index_put((columns.source, columns.column), x)
            return self.mlp(slots.flatten(1))
        for layer in self.layers:
            x = layer(x, columns)
        return self.mlp(sum_by_group(x, columns.source, num_nodes))


class _RowLinear(nn.Linear):
    """A linear layer of each row."""

    def forward(self, x: Tensor, columns: NodeColumns) -> Tensor:
        return super().forward(x)


class SetLayer(nn.Module):
    """Maps each element of a set together with the mean of its set: W₁ x_i + W₂ mean_j x_j + b.

    Args:
        in_channels: Width of an element.
        out_channels: Width of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.own = nn.Linear(in_channels, out_channels)
        self.mean = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, x: Tensor, set_number: Tensor, num_sets: int) -> Tensor:
        """Maps ``[R, in_channels]``, row r of the set ``set_number[r]``, to ``[R, out_channels]``."""
        mean = mean_by_group(x, set_number, num_sets)
        return self.own(x) + self.mean(mean)[set_number]


class _DeepSetsLayer(nn.Module):
    """ReLU of a set layer on the columns of each node."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.layer = SetLayer(in_channels, out_channels)

    def forward(self, x: Tensor, columns: NodeColumns) -> Tensor:
        return self.layer(x, columns.source, len(columns.start)).relu()


class _ColumnAttention(nn.Module):
    """A Transformer layer on the columns of each node, with LayerNorm after attention and the feed-forward network."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        if channels % heads:
            raise ValueError(
                f"heads is {heads}, which does not divide hidden_channels={channels}; choose a divisor"
            )
        check_layer_norm(channels)
        self.heads = heads
        self.project = nn.Linear(channels, 3 * channels)
        self.output = nn.Linear(channels, channels)
        self.attention_norm = nn.LayerNorm(channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
        )
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor, columns: NodeColumns) -> Tensor:
        x = self.attention_norm(x + self.output(self._attend(self.project(x), columns)))
        return self.norm(x + self.feed_forward(x))

    def _attend(self, projected: Tensor, columns: NodeColumns) -> Tensor:
        """Attention for all nodes with the same number of columns at a time, so that there is no padding."""
        channels = projected.size(1) // 3
        attended, rows = [projected[:0, :channels]], [columns.source[:0]]
        for count in columns.counts[columns.counts > 0].unique().tolist():
            for start in columns.start[columns.counts == count].split(_MOST_NODES):
                row = (start[:, None] + torch.arange(count, device=start.device)).flatten()
                parts = projected[row].view(len(start), count, 3, self.heads, -1)
                query, key, value = parts.permute(2, 0, 3, 1, 4)
                mixed = nn.functional.scaled_dot_product_attention(query, key, value)
                attended.append(mixed.transpose(1, 2).reshape(-1, channels))
                rows.append(row)
        return torch.cat(attended)[torch.argsort(torch.cat(rows))]
