"""The layers of a GIN, group of rows after group of rows, with a backward pass that needs little memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from graphpe.nn.pairs.row_groups import RowGroup

# Weight and bias of a layer norm; None where there is none.
_NormWeights = tuple[Tensor | None, Tensor | None]

# Mean and 1 / standard deviation of each row; None without a norm.
_Moments = tuple[Tensor, Tensor] | None


class LayerWeights(NamedTuple):
    r"""Weights of a layer, or gradients of them.

    The layer starts from rows q that its first linear layer's weights have been applied to:

    .. math::
        u = s\, q + \sum q_{\mathrm{neighbours}} + b_1, \qquad
        v = W_2\, \mathrm{ReLU}(\mathrm{norm}_1(u)) + b_2, \qquad
        y = W_3\, \mathrm{ReLU}(\mathrm{norm}_2(v)) + b_3

    and y is the q of the next layer.
    """

    scale: Tensor
    bias_1: Tensor
    norm_weight_1: Tensor | None
    norm_bias_1: Tensor | None
    weight_2: Tensor
    bias_2: Tensor
    norm_weight_2: Tensor | None
    norm_bias_2: Tensor | None
    weight_3: Tensor
    bias_3: Tensor

    @classmethod
    def unflatten(cls, weights: Sequence[Tensor | None]) -> list[LayerWeights]:
        """Undoes ``chain.from_iterable(layers)``."""
        width = len(cls._fields)
        return [cls(*weights[i : i + width]) for i in range(0, len(weights), width)]

    @property
    def norm_1(self) -> _NormWeights:
        return self.norm_weight_1, self.norm_bias_1

    @property
    def norm_2(self) -> _NormWeights:
        return self.norm_weight_2, self.norm_bias_2

    def zeros(self) -> LayerWeights:
        return LayerWeights(*(None if own is None else torch.zeros_like(own) for own in self))


def gin_layers(
    x: Tensor,
    first_weight: Tensor | None,
    layers: list[LayerWeights],
    groups: list[RowGroup],
    norm_eps: float,
) -> Tensor:
    """Applies layers to ``[P, c]``: ``[P, out]``, what the last of them gives.

    A group goes through all layers while its rows are in the cache. For the backward pass, only q and v of each layer
    are kept, which the rest follows from without a product of matrices.

    Args:
        x: ``[P, c]`` rows, in float32 or float64, as are the weights.
        first_weight: ``[hidden, c]`` by which rows become the first layer's q; None if they are that.
        layers: The weights.
        groups: Groups of all rows.
        norm_eps: What layer norms add to the variance.
    """
    has_backward = torch.is_grad_enabled()
    weights = chain.from_iterable(layers)
    return _GINLayers.apply(x, first_weight, groups, norm_eps, has_backward, *weights)


class _GINLayers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        first_weight: Tensor | None,
        groups: list[RowGroup],
        norm_eps: float,
        has_backward: bool,
        *weights: Tensor | None,
    ) -> Tensor:
        layers = LayerWeights.unflatten(weights)
        output = x.new_empty(len(x), len(layers[-1].weight_3))
        # Tensors of their own for each group: the allocator keeps small ones for the next step, while new memory for
        # large ones takes as long as a product of matrices.
        kept: list[Tensor] = []
        for group in groups:
            q = x.detach()[group.rows]
            if first_weight is not None:
                q = q @ first_weight.t()
            for layer in layers:
                u = _add_neighbors(q, layer, group)
                hidden, _ = _norm_relu(u, layer.norm_1, norm_eps)
                v = torch.addmm(layer.bias_2, hidden, layer.weight_2.t())
                if has_backward:
                    kept += q, v
                hidden, _ = _norm_relu(v, layer.norm_2, norm_eps)
                q = torch.addmm(layer.bias_3, hidden, layer.weight_3.t())
            output[group.rows] = q
        ctx.groups, ctx.norm_eps, ctx.num_kept = groups, norm_eps, len(kept)
        ctx.save_for_backward(x, first_weight, *kept, *weights)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, first_weight, *saved = ctx.saved_tensors
        kept, layers = iter(saved[: ctx.num_kept]), LayerWeights.unflatten(saved[ctx.num_kept :])
        of_layers = [layer.zeros() for layer in layers]
        of_first = None if first_weight is None else torch.zeros_like(first_weight)
        of_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        for group in ctx.groups:
            own = [
                (layer, total, next(kept), next(kept))
                for layer, total in zip(layers, of_layers, strict=True)
            ]
            of_q = gradient[group.rows]
            for layer, total, q, v in reversed(own):
                of_q = _backward(of_q, q, v, layer, total, group, ctx.norm_eps)
            if of_first is not None:
                of_first.addmm_(of_q.t(), x[group.rows])
            if of_x is not None:
                of_x[group.rows] = of_q if first_weight is None else of_q @ first_weight
        return of_x, of_first, None, None, None, *chain.from_iterable(of_layers)


def _backward(
    gradient: Tensor,
    q: Tensor,
    v: Tensor,
    layer: LayerWeights,
    total: LayerWeights,
    group: RowGroup,
    norm_eps: float,
) -> Tensor:
    """Turns the gradient of what a layer gives into that of q, and adds those of its weights to ``total``."""
    hidden, moments = _norm_relu(v, layer.norm_2, norm_eps)
    total.weight_3.addmm_(gradient.t(), hidden)
    total.bias_3.add_(gradient.sum(0))
    gradient = gradient @ layer.weight_3
    gradient = _norm_relu_backward(gradient, v, hidden, moments, layer.norm_2, total.norm_2)

    u = _add_neighbors(q, layer, group)
    hidden, moments = _norm_relu(u, layer.norm_1, norm_eps)
    total.weight_2.addmm_(gradient.t(), hidden)
    total.bias_2.add_(gradient.sum(0))
    gradient = gradient @ layer.weight_2
    gradient = _norm_relu_backward(gradient, u, hidden, moments, layer.norm_1, total.norm_1)

    total.bias_1.add_(gradient.sum(0))
    total.scale.add_(torch.dot(gradient.flatten(), q.flatten()))
    return group.outgoing.sum(gradient).addcmul_(gradient, layer.scale)


def _add_neighbors(q: Tensor, layer: LayerWeights, group: RowGroup) -> Tensor:
    return group.incoming.sum(q).addcmul_(q, layer.scale).add_(layer.bias_1)


def _norm_relu(x: Tensor, norm: _NormWeights, norm_eps: float) -> tuple[Tensor, _Moments]:
    if norm[0] is None:
        return x.relu(), None
    y, mean, inverse_deviation = torch.native_layer_norm(x, x.shape[1:], *norm, norm_eps)
    return y.relu_(), (mean, inverse_deviation)


def _norm_relu_backward(
    gradient: Tensor,
    x: Tensor,
    y: Tensor,
    moments: _Moments,
    norm: _NormWeights,
    total: _NormWeights,
) -> Tensor:
    """Turns the gradient of y = ReLU(norm(x)), which is overwritten, into that of x; adds those of norm's weights."""
    torch.ops.aten.threshold_backward.grad_input(gradient, y, 0, grad_input=gradient)
    if moments is None:
        return gradient
    gradient, of_weight, of_bias = torch.ops.aten.native_layer_norm_backward(
        gradient, x, x.shape[1:], *moments, *norm, [True, True, True]
    )
    total[0].add_(of_weight)
    total[1].add_(of_bias)
    return gradient
