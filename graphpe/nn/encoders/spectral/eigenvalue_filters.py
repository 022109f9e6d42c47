"""Many small networks from eigenvalues to weights, computed together: the φ of SPE."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import torch
from torch import Tensor, nn

from graphpe.checks import require_number
from graphpe.nn.blocks import Normalization, check_layer_norm, normalization
from graphpe.nn.encoders.base import uniform_like_linear
from graphpe.nn.layout import GraphLayout
from graphpe.nn.stacks import Stacks, stacks_of
from graphpe.nn.sums import sum_by_group
from graphpe.ragged import offsets_of


class EigenvalueFilters(nn.Module, ABC):
    """m networks with their own weights, each of which maps eigenvalues to one weight per eigenvalue.

    The eigenvalues of all graphs come as one list without padding, so that nothing but eigenvalues enters a sum or a
    normalisation.
    """

    def forward(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """Weighs each eigenvalue.

        Args:
            eigenvalues: ``[Q]`` the eigenvalues of all graphs.
            graph: ``[Q]`` the graph of each eigenvalue, ascending.
            num_graphs: Number of graphs, B.

        Returns:
            ``[Q, m]`` one weight per eigenvalue and network, in float32 at least: in half precision close eigenvalues
            would be one, and sums over them would overflow. They are few, so that it costs little.
        """
        wide = eigenvalues.to(torch.promote_types(eigenvalues.dtype, torch.float32))
        with torch.autocast(wide.device.type, enabled=False):
            return self._weigh(wide, graph, num_graphs)

    @abstractmethod
    def _weigh(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """The same for eigenvalues in float32 or float64."""


class ElementwiseFilters(EigenvalueFilters):
    r"""φ_m(λ)_k is a multi-layer perceptron of λ_k alone: linear layers with a normalisation and ReLU between them.

    Args:
        num_filters: Number of networks, m.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of linear layers, l.
        norm: Normalisation of the hidden layers; ``"batch"`` is over all eigenvalues of the batch.
        lipschitz: A number L with :math:`|\varphi_m(\lambda)_k - \varphi_m(\lambda')_k| \le L |\lambda_k -
            \lambda'_k|` for all weights: those of each of the l layers are divided by their spectral norm over
            :math:`L^{1/l}`, where it is more than that, and ReLU doesn't add to it. A normalisation would, so
            ``norm`` has to be ``"none"``. None for no bound.
    """

    def __init__(
        self,
        num_filters: int,
        hidden_channels: int,
        num_layers: int,
        norm: Normalization,
        lipschitz: float | None = None,
    ) -> None:
        super().__init__()
        largest_norm = None
        if lipschitz is not None:
            require_number("lipschitz", lipschitz, 0.0, may_equal=False)
            if norm != "none":
                raise ValueError(
                    f"norm is {norm!r}, which has no bound; with lipschitz, take 'none'"
                )
            largest_norm = lipschitz ** (1 / num_layers)
        self.linears = nn.ModuleList(
            _GroupedLinear(num_filters, *channels, largest_norm=largest_norm)
            for channels in _layer_widths(hidden_channels, num_layers)
        )
        self.norms = nn.ModuleList(
            _GroupedNormalization(norm, num_filters, hidden_channels) for _ in self.linears[1:]
        )

    def _weigh(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        hidden = _to_groups(eigenvalues, len(self.linears[0].weight))
        for linear, norm in zip(self.linears, self.norms, strict=False):
            hidden = norm(linear(hidden)).relu()
        return self.linears[-1](hidden).squeeze(-1).t()


class DeepSetsFilters(EigenvalueFilters):
    """φ_m(λ) is a DeepSets network over the eigenvalues of a graph: layers W₁ x_k + b + W₂ Σ_l x_l, ReLU between them.

    The sums are as published. With each layer, weights grow with the number of eigenvalues: of 500, with three layers,
    they are so large that float32 leaves an error of about 1e-3 of the output of SPE.

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

    def _weigh(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        hidden = _to_groups(eigenvalues, len(self.own[0].weight))
        for layer, (own, total) in enumerate(zip(self.own, self.total, strict=True)):
            if layer > 0:
                hidden = hidden.relu()
            sums = sum_by_group(hidden, graph, num_graphs, dim=1)
            hidden = own(hidden) + total(sums)[:, graph]
        return hidden.squeeze(-1).t()


class TransformerFilters(EigenvalueFilters):
    r"""φ_m(λ) is a Transformer between the eigenvalues of a graph.

    .. math::
        x \leftarrow x + \mathrm{Attention}(\mathrm{norm}(x)), \qquad
        x \leftarrow x + W_2\, \mathrm{ReLU}(W_1\, \mathrm{norm}(x) + b_1) + b_2

    Each eigenvalue starts as :math:`w \lambda_k + b`, and each layer attends with one head to all eigenvalues of its
    graph; a linear layer ends it. Nothing but its value tells an eigenvalue's place, so that equal ones get equal
    weights.

    Args:
        num_filters: Number of networks, m.
        hidden_channels: Width of an eigenvalue, and of the hidden layers between.
        num_layers: Number of layers.
        norm: Normalisation before each step; ``"batch"`` is over all eigenvalues of the batch.
    """

    def __init__(
        self, num_filters: int, hidden_channels: int, num_layers: int, norm: Normalization
    ) -> None:
        super().__init__()
        self.first = _GroupedLinear(num_filters, 1, hidden_channels)
        self.layers = nn.ModuleList(
            _GroupedTransformerLayer(num_filters, hidden_channels, norm) for _ in range(num_layers)
        )
        self.last = _GroupedLinear(num_filters, hidden_channels, 1)

    def _weigh(self, eigenvalues: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        counts = torch.bincount(graph, minlength=num_graphs)
        stacks = stacks_of(GraphLayout(graph, offsets_of(counts)))
        hidden = self.first(_to_groups(eigenvalues, len(self.first.weight)))
        for layer in self.layers:
            hidden = layer(hidden, stacks)
        return self.last(hidden).squeeze(-1).t()


def place_weights(weights: Tensor, valid: Tensor) -> Tensor:
    """Puts weights of eigenvalues in their places: ``[Q, m]`` to ``[*valid.shape, m]``, zero where not ``valid``."""
    placed = weights.new_zeros(*valid.shape, weights.size(1))
    placed[valid] = weights
    return placed


class _GroupedLinear(nn.Module):
    """m linear layers at once: ``[m, rows, in]`` to ``[m, rows, out]``.

    Args:
        num_groups: Number of layers, m.
        in_channels: Width of the input.
        out_channels: Width of the output.
        bias: Whether there is a bias.
        largest_norm: The most that the spectral norm of the weights of each layer may be; larger ones are scaled down.
    """

    def __init__(
        self,
        num_groups: int,
        in_channels: int,
        out_channels: int,
        bias: bool = True,
        largest_norm: float | None = None,
    ) -> None:
        super().__init__()
        self.largest_norm = largest_norm
        shape = (num_groups, in_channels, out_channels)
        self.weight = uniform_like_linear(*shape, fan_in=in_channels)
        self.bias = (
            uniform_like_linear(num_groups, 1, out_channels, fan_in=in_channels) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight
        if self.largest_norm is not None:
            # There is no decomposition in half precision.
            single = weight.to(torch.promote_types(weight.dtype, torch.float32))
            norm = torch.linalg.matrix_norm(single, ord=2, keepdim=True)
            weight = weight / (norm / self.largest_norm).clamp(min=1).to(weight.dtype)
        weight = weight.to(x.dtype)
        if self.bias is None:
            return torch.bmm(x, weight)
        return torch.baddbmm(self.bias.to(x.dtype), x, weight)


class _GroupedNormalization(nn.Module):
    """A normalisation of ``[m, rows, channels]`` in which each group has its own statistics, gain and bias."""

    def __init__(self, kind: Normalization, num_groups: int, channels: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "layer":
            check_layer_norm(channels, "phi_hidden_channels")
            self.weight = nn.Parameter(torch.ones(num_groups, 1, channels))
            self.bias = nn.Parameter(torch.zeros(num_groups, 1, channels))
        else:
            self.norm = normalization(kind, num_groups * channels)

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "layer":
            normalized = nn.functional.layer_norm(x, x.shape[-1:])
            return torch.addcmul(self.bias.to(x.dtype), normalized, self.weight.to(x.dtype))
        groups, rows, channels = x.shape
        by_row = x.transpose(0, 1).reshape(rows, groups * channels)
        if self.kind == "batch":
            by_row = by_row.to(self.norm.module.weight.dtype)
        return self.norm(by_row).view(rows, groups, channels).transpose(0, 1).to(x.dtype)


class _GroupedTransformerLayer(nn.Module):
    """m Transformer layers with one head at once, each inside the graphs of a batch."""

    def __init__(self, num_groups: int, channels: int, norm: Normalization) -> None:
        super().__init__()
        self.attention_norm = _GroupedNormalization(norm, num_groups, channels)
        self.project = _GroupedLinear(num_groups, channels, 3 * channels)
        self.out = _GroupedLinear(num_groups, channels, channels)
        self.perceptron_norm = _GroupedNormalization(norm, num_groups, channels)
        self.linears = nn.ModuleList(
            _GroupedLinear(num_groups, channels, channels) for _ in range(2)
        )

    def forward(self, x: Tensor, stacks: Stacks) -> Tensor:
        """Maps ``[m, Q, channels]``."""
        x = x + self.out(self._attend(self.project(self.attention_norm(x)), stacks))
        hidden = self.linears[0](self.perceptron_norm(x)).relu()
        return x + self.linears[1](hidden)

    def _attend(self, projected: Tensor, stacks: Stacks) -> Tensor:
        """``[m, Q, 3 channels]`` queries, keys and values to ``[m, Q, channels]``."""
        groups = len(projected)
        by_row = projected.transpose(0, 1).flatten(1)
        attended = []
        for stack in stacks.stacks:
            parts = stack.gather(by_row).unflatten(2, (groups, 3, -1))  # [g, w, m, 3, channels]
            query, key, value = parts.permute(3, 0, 2, 1, 4)
            mask = None if stack.valid is None else stack.valid[:, None, None]
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            attended.append(mixed.transpose(1, 2).flatten(2))
        return stacks.unstack(attended).unflatten(1, (groups, -1)).transpose(0, 1)


def _layer_widths(hidden_channels: int, num_layers: int) -> list[tuple[int, int]]:
    """Input and output width of each layer of a network from one number to one number."""
    widths = [1] + [hidden_channels] * (num_layers - 1) + [1]
    return list(pairwise(widths))


def _to_groups(eigenvalues: Tensor, num_groups: int) -> Tensor:
    """The same ``[Q]`` numbers for each group: ``[m, Q, 1]``."""
    return eigenvalues[None, :, None].expand(num_groups, -1, 1)
