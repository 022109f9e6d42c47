"""A GIN on the pairs of nodes of each graph."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, zip_longest
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch_geometric.nn import MLP

from graphpe.nn.blocks import Normalization, mlp
from graphpe.nn.pairs.gin_layers import LayerWeights, gin_layers
from graphpe.nn.pairs.neighbor_rows import NodeRows, RowSets
from graphpe.nn.pairs.row_groups import one_group, row_groups
from graphpe.nn.rows import RowNetwork, apply_to_rows

# So many numbers of each tensor that a layer reads and writes stay in the cache of a CPU's core.
_NUMBERS_IN_CACHE = 2**18


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
        self.norm = norm
        self.mixes_rows_in_training = norm == "batch"

    def forward(self, x: Tensor, pairs: NodeRows, edge_index: Tensor) -> Tensor:
        """Applies the layers.

        Args:
            x: ``[P, in_channels]`` one row per pair.
            pairs: The pairs.
            edge_index: ``[2, E]`` the edges of the batch.

        Returns:
            ``[P, out_channels]``.
        """
        if self._by_groups(x):
            return self._propagate_by_groups(x, self.first_weight, pairs, edge_index)
        return self._propagate(list(self.mlps), x, pairs, edge_index)

    @property
    def first_weight(self) -> Tensor:
        """``[hidden_channels, in_channels]`` weights W of the first linear layer."""
        return self.mlps[0].lins[0].weight

    def forward_mapped(self, x: Tensor, pairs: NodeRows, edge_index: Tensor) -> Tensor:
        """The same for rows that are mapped by ``first_weight`` already, x Wᵀ; sums over neighbours don't mind."""
        if self._by_groups(x):
            return self._propagate_by_groups(x, None, pairs, edge_index)
        first = partial(after_first_weight, self.mlps[0])
        return self._propagate([first, *self.mlps[1:]], x, pairs, edge_index)

    def _by_groups(self, x: Tensor) -> bool:
        """Whether :func:`gin_layers` does the same: not with batch norm, which mixes the rows of all graphs.

        Under autocast, inputs, messages and parameters have several dtypes, and ``torch.compile`` fuses what it sees;
        both get the layers one after the other.
        """
        return (
            self.norm != "batch"
            and x.dtype in (torch.float32, torch.float64)
            and x.dtype == self.first_weight.dtype
            and not torch.is_autocast_enabled(x.device.type)
            and not torch.compiler.is_compiling()
        )

    def _propagate_by_groups(
        self, x: Tensor, first_weight: Tensor | None, pairs: NodeRows, edge_index: Tensor
    ) -> Tensor:
        if x.device.type == "cpu":
            size = max(1, _NUMBERS_IN_CACHE // len(self.first_weight))
            groups = row_groups(pairs, edge_index, size)
        else:
            groups = one_group(pairs, edge_index)
        norm_eps = getattr(self.mlps[0].norms[0], "eps", 0.0)
        x = groups.arrange(x)
        x = gin_layers(x, first_weight, self._layer_weights(), groups.groups, norm_eps)
        return groups.restore(x)

    def _layer_weights(self) -> list[LayerWeights]:
        """One linear map for the last one of a layer and the first one of the next.

        Between them is only the sum over neighbours, which may come after both.
        """
        layers = []
        following = [network.lins[0].weight for network in self.mlps[1:]]
        for epsilon, network, after in zip_longest(self.epsilon, self.mlps, following):
            first, second, third = network.lins
            weight, bias = third.weight, third.bias
            if after is not None:
                weight, bias = after @ weight, after @ bias
            norm_1, norm_2 = (
                (getattr(norm, "weight", None), getattr(norm, "bias", None))
                for norm in network.norms
            )
            layers.append(
                LayerWeights(
                    1 + epsilon,
                    first.bias,
                    *norm_1,
                    second.weight,
                    second.bias,
                    *norm_2,
                    weight,
                    bias,
                )
            )
        return layers

    def _propagate(
        self, mlps: list[RowNetwork], x: Tensor, pairs: NodeRows, edge_index: Tensor
    ) -> Tensor:
        group = one_group(pairs, edge_index).groups[0]
        mixes_rows = self.training and self.mixes_rows_in_training
        for epsilon, network in zip(self.epsilon, mlps, strict=True):
            messages = _AddNeighbors.apply(x, epsilon, group.incoming, group.outgoing)
            x = apply_to_rows(network, messages, mixes_rows)
        return x


def after_first_weight(network: MLP, x: Tensor) -> Tensor:
    """What a perceptron does with ``x`` after its first weights."""
    x = x + network.lins[0].bias
    for norm, linear in zip(network.norms, network.lins[1:], strict=True):
        x = linear(network.act(norm(x)))
    return x


class _AddNeighbors(torch.autograd.Function):
    """(1 + ε) x + Σ over neighbours, and its gradient by the reversed edges.

    Gather and scatter by autograd would hold the messages of all pairs in memory, twice as many as there are pairs, and
    take about two and a half times as long.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, epsilon: Tensor, incoming: RowSets, outgoing: RowSets
    ) -> Tensor:
        ctx.outgoing = outgoing
        ctx.save_for_backward(x, epsilon)
        return incoming.sum(x).addcmul_(x, (1 + epsilon).to(x.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, epsilon = ctx.saved_tensors
        gradient = gradient.contiguous()
        scale = (1 + epsilon).to(gradient.dtype)
        gradient_x = ctx.outgoing.sum(gradient).addcmul_(gradient, scale)
        # Under autocast, x may be in half precision and ε not; a sum over all pairs should not be.
        by_row = (t.flatten().to(epsilon.dtype) for t in (gradient, x))
        return gradient_x, torch.dot(*by_row).view(1), None, None
