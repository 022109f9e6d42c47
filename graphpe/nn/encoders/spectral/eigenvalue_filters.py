"""Many small networks from eigenvalues to weights, computed together: the φ of SPE."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter

from graphpe.nn.blocks import Normalization, normalization
from graphpe.nn.encoders.base import uniform_like_linear


class EigenvalueFilters(nn.Module, ABC):
    """m networks with their own weights, each of which maps eigenvalues to one weight per eigenvalue.

    The eigenvalues of all graphs come as one list without padding, so that nothing but eigenvalues enters a sum or a
    normalisation.
    """

    @abstractmethod
    def forward(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """Weighs each eigenvalue.

        Args:
            eigenvalues: ``[Q]`` the eigenvalues of all graphs.
            graph: ``[Q]`` the graph of each eigenvalue.
            num_graphs: Number of graphs, B.

        Returns:
            ``[Q, m]`` one weight per eigenvalue and network.
        """


class ElementwiseFilters(EigenvalueFilters):
    """φ_m(λ)_k is a multi-layer perceptron of λ_k alone: linear layers with a normalisation and ReLU between them.

    Args:
        num_filters: Number of networks, m.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of linear layers.
        norm: Normalisation of the hidden layers; ``"batch"`` is over all eigenvalues of the batch.
    """

    def __init__(
        self, num_filters: int, hidden_channels: int, num_layers: int, norm: Normalization
    ) -> None:
        super().__init__()
        self.linears = nn.ModuleList(
            _GroupedLinear(num_filters, *channels)
            for channels in _layer_widths(hidden_channels, num_layers)
        )
        self.norms = nn.ModuleList(
            _GroupedNormalization(norm, num_filters, hidden_channels) for _ in self.linears[1:]
        )

    def forward(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        hidden = _to_groups(eigenvalues, len(self.linears[0].weight))
        for linear, norm in zip(self.linears, self.norms, strict=False):
            hidden = norm(linear(hidden)).relu()
        return self.linears[-1](hidden).squeeze(-1).t()


class DeepSetsFilters(EigenvalueFilters):
    """φ_m(λ) is a DeepSets network over the eigenvalues of a graph: layers W₁ x_k + b + W₂ Σ_l x_l, ReLU between them.

    Args:
        num_filters: Number of networks, m.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of layers.
    """

    def __init__(self, num_filters: int, hidden_channels: int, num_layers: int) -> None:
        super().__init__()
        widths = _layer_widths(hidden_channels, num_layers)
        self.own = nn.ModuleList(_GroupedLinear(num_filters, *w) for w in widths)
        self.total = nn.ModuleList(_GroupedLinear(num_filters, *w, bias=False) for w in widths)

    def forward(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        hidden = _to_groups(eigenvalues, len(self.own[0].weight))
        for layer, (own, total) in enumerate(zip(self.own, self.total, strict=True)):
            if layer > 0:
                hidden = hidden.relu()
            sums = scatter(hidden, graph, dim=1, dim_size=num_graphs)
            hidden = own(hidden) + total(sums)[:, graph]
        return hidden.squeeze(-1).t()


class _GroupedLinear(nn.Module):
    """m linear layers at once: ``[m, rows, in]`` to ``[m, rows, out]``."""

    def __init__(
        self, num_groups: int, in_channels: int, out_channels: int, bias: bool = True
    ) -> None:
        super().__init__()
        shape = (num_groups, in_channels, out_channels)
        self.weight = uniform_like_linear(*shape, fan_in=in_channels)
        self.bias = (
            uniform_like_linear(num_groups, 1, out_channels, fan_in=in_channels) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias, x, self.weight)


class _GroupedNormalization(nn.Module):
    """A normalisation of ``[m, rows, channels]`` in which each group has its own statistics, gain and bias."""

    def __init__(self, kind: Normalization, num_groups: int, channels: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "layer":
            self.weight = nn.Parameter(torch.ones(num_groups, 1, channels))
            self.bias = nn.Parameter(torch.zeros(num_groups, 1, channels))
        else:
            self.norm = normalization(kind, num_groups * channels)

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "layer":
            return torch.addcmul(self.bias, nn.functional.layer_norm(x, x.shape[-1:]), self.weight)
        groups, rows, channels = x.shape
        by_row = x.transpose(0, 1).reshape(rows, groups * channels)
        return self.norm(by_row).view(rows, groups, channels).transpose(0, 1)


def _layer_widths(hidden_channels: int, num_layers: int) -> list[tuple[int, int]]:
    """Input and output width of each layer of a network from one number to one number."""
    widths = [1] + [hidden_channels] * (num_layers - 1) + [1]
    return list(pairwise(widths))


def _to_groups(eigenvalues: Tensor, num_groups: int) -> Tensor:
    """The same ``[Q]`` numbers for each group: ``[m, Q, 1]``."""
    return eigenvalues[None, :, None].expand(num_groups, -1, 1)
