"""Networks on the pairs of nodes of each graph: the ρ of SPE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch_geometric.nn import MLP

from graphpe.nn.blocks import Normalization, mlp
from graphpe.nn.layout import NodePairs
from graphpe.ragged import offsets_of, ragged_arange

# So many rows at a time stay in a CPU's cache from one layer of a perceptron to the next.
_ROWS_IN_CACHE = 4096

# From rows ``[R, c]`` to ``[R, d]``.
RowNetwork = Callable[[Tensor], Tensor]


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
        return apply_to_rows(self.mlp, x, self.training and self.mixes_rows_in_training)

    @property
    def first_weight(self) -> Tensor:
        """``[hidden_channels, in_channels]`` weights W of the first linear layer."""
        return self.mlp.lins[0].weight

    def forward_mapped(self, x: Tensor, pairs: NodePairs, edge_index: Tensor) -> Tensor:
        """The same for rows that are mapped by ``first_weight`` already, x Wᵀ."""
        network = partial(_after_first_weight, self.mlp)
        return apply_to_rows(network, x, self.training and self.mixes_rows_in_training)


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
        return self._propagate(list(self.mlps), x, pairs, edge_index)

    @property
    def first_weight(self) -> Tensor:
        """``[hidden_channels, in_channels]`` weights W of the first linear layer."""
        return self.mlps[0].lins[0].weight

    def forward_mapped(self, x: Tensor, pairs: NodePairs, edge_index: Tensor) -> Tensor:
        """The same for rows that are mapped by ``first_weight`` already, x Wᵀ; sums over neighbours don't mind."""
        first = partial(_after_first_weight, self.mlps[0])
        return self._propagate([first, *self.mlps[1:]], x, pairs, edge_index)

    def _propagate(
        self, mlps: list[RowNetwork], x: Tensor, pairs: NodePairs, edge_index: Tensor
    ) -> Tensor:
        source, target = edge_index
        incoming = _neighbor_rows(pairs, target, source)
        outgoing = _neighbor_rows(pairs, source, target)
        mixes_rows = self.training and self.mixes_rows_in_training
        for epsilon, network in zip(self.epsilon, mlps, strict=True):
            x = apply_to_rows(
                network, _AddNeighbors.apply(x, epsilon, incoming, outgoing), mixes_rows
            )
        return x


def apply_to_rows(network: RowNetwork, x: Tensor, mixes_rows: bool) -> Tensor:
    """Applies a network to the rows of ``[P, c]``: on a CPU in blocks, which takes two thirds of the time.

    Args:
        network: The network, ``[R, c]`` to ``[R, d]``.
        x: ``[P, c]``.
        mixes_rows: Whether a row of the output depends on other rows, so that there must be one block.
    """
    if mixes_rows or x.device.type != "cpu":
        return network(x)
    return torch.cat([network(rows) for rows in x.split(_ROWS_IN_CACHE)])


def _after_first_weight(network: MLP, x: Tensor) -> Tensor:
    """What a perceptron does with ``x`` after its first weights."""
    x = x + network.lins[0].bias
    for norm, linear in zip(network.norms, network.lins[1:], strict=True):
        x = linear(network.act(norm(x)))
    return x


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
