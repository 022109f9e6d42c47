"""Networks on the pairs of nodes of each graph: the ρ of SPE."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from graphpe.nn.blocks import Normalization, mlp
from graphpe.nn.layout import NodePairs
from graphpe.ragged import offsets_of, ragged_arange

# So many rows at a time stay in a CPU's cache from one layer of a perceptron to the next.
_ROWS_IN_CACHE = 4096


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

    def forward(self, x: Tensor, pairs: NodePairs, edge_index: Tensor) -> Tensor:
        """Maps ``[P, in_channels]`` to ``[P, out_channels]``."""
        return _apply(self.mlp, x, self.training and self.mixes_rows_in_training)


class PairGIN(nn.Module):
    r"""A GIN over the nodes i of each graph, the same for each column j.

    .. math:: x_{ij} \leftarrow \mathrm{MLP}\Big( (1 + \epsilon)\, x_{ij} + \sum_{u \to i} x_{uj} \Big)

    The perceptron has three linear layers. There are no residuals and nothing between the layers. As in the published
    code, ε is learned and starts from N(0, 1).

    Args:
        in_channels: Width of a pair.
        hidden_channels: Width of the hidden layers.
        out_channels: Width of the output.
        num_layers: Number of GIN layers.
        norm: Normalisation in the perceptrons, over the pairs (i, j).
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
        widths = [in_channels] + [hidden_channels] * (num_layers - 1) + [out_channels]
        self.epsilon = nn.ParameterList(nn.Parameter(torch.randn(1)) for _ in range(num_layers))
        self.mlps = nn.ModuleList(
            mlp([before, hidden_channels, hidden_channels, after], norm)
            for before, after in pairwise(widths)
        )
        self.mixes_rows_in_training = norm == "batch"

    def forward(self, x: Tensor, pairs: NodePairs, edge_index: Tensor) -> Tensor:
        """Applies the layers.

        Args:
            x: ``[P, in_channels]`` one row per pair.
            pairs: The pairs.
            edge_index: ``[2, E]`` the edges of the batch.

        Returns:
            ``[P, out_channels]``.
        """
        source, target = edge_index
        incoming = _neighbor_rows(pairs, target, source)
        outgoing = _neighbor_rows(pairs, source, target)
        mixes_rows = self.training and self.mixes_rows_in_training
        for epsilon, network in zip(self.epsilon, self.mlps, strict=True):
            x = _apply(network, _AddNeighbors.apply(x, epsilon, incoming, outgoing), mixes_rows)
        return x


def _apply(network: nn.Module, x: Tensor, mixes_rows: bool) -> Tensor:
    """Applies a network to the rows of ``[P, c]``: on a CPU in blocks, which takes two thirds of the time."""
    if mixes_rows or x.device.type != "cpu":
        return network(x)
    return torch.cat([network(rows) for rows in x.split(_ROWS_IN_CACHE)])


@dataclass(frozen=True)
class _RowSets:
    """A set of rows for each row, one after the other: set r is ``rows[offsets[r] : offsets[r + 1]]``."""

    rows: Tensor
    offsets: Tensor

    def sum(self, x: Tensor) -> Tensor:
        """Sums the rows of each set of ``[P, c]``, without a copy of the rows."""
        return nn.functional.embedding_bag(
            self.rows, x, self.offsets, mode="sum", include_last_offset=True
        )


class _AddNeighbors(torch.autograd.Function):
    """(1 + ε) x + Σ over neighbours, and its gradient by the reversed edges.

    Gather and scatter by autograd would hold the messages of all pairs in memory, twice as many as there are pairs, and
    take about two and a half times as long.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, epsilon: Tensor, incoming: _RowSets, outgoing: _RowSets
    ) -> Tensor:
        ctx.outgoing = outgoing
        ctx.save_for_backward(x, epsilon)
        return incoming.sum(x).addcmul_(x, 1 + epsilon)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, epsilon = ctx.saved_tensors
        gradient = gradient.contiguous()
        gradient_x = ctx.outgoing.sum(gradient).addcmul_(gradient, 1 + epsilon)
        gradient_epsilon = torch.dot(gradient.flatten(), x.flatten()).view(1)
        return gradient_x, gradient_epsilon, None, None


def _neighbor_rows(pairs: NodePairs, node: Tensor, neighbor: Tensor) -> _RowSets:
    """Lists, for each pair (i, j), the rows of the pairs (u, j) of all edges that join i and u.

    Args:
        pairs: The pairs.
        node: ``[E]`` the end i of each edge.
        neighbor: ``[E]`` the other end u of each edge.
    """
    by_node = torch.argsort(node, stable=True)
    degree = torch.bincount(node, minlength=len(pairs.start))
    counts = degree[pairs.source]
    row, position = ragged_arange(counts)
    end = pairs.source[row]
    edge = by_node[offsets_of(degree)[end] + position]
    column = row - pairs.start[end]
    return _RowSets(pairs.start[neighbor[edge]] + column, offsets_of(counts))
