"""Attention of each node to all nodes of its graph, in time that grows with the nodes instead of the pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from graphpe.nn.attention.base import AttentionPlaces, GlobalAttention, check_heads
from graphpe.nn.attention.stacked_heads import merge_heads, split_heads

# As published; less than any weight unless queries or keys are large and negative throughout.
_EPSILON = 1e-6


class LinearAttention(GlobalAttention):
    r"""Attention whose weights are products of positive features of queries and keys, so that sums come first.

    For each head, with :math:`d` channels per head, :math:`q, k, v` from linear layers and
    :math:`\phi(x) = \mathrm{ELU}(x) + 1`,

    .. math::
        y_i = \frac{\phi(q_i)^\top S}{\max(\phi(q_i)^\top z, \epsilon)}, \qquad
        S = \sum_j \phi(k_j)\, v_j^\top \in \mathbb{R}^{d \times d}, \qquad z = \sum_j \phi(k_j)

    where the sums are over the nodes of the graph. Time is :math:`O(n d)` per channel; no pair has a weight of its own,
    so that encodings of pairs have no place here. Padded keys count neither in S nor in z (in PyG's
    ``PerformerAttention`` they count in z, and a graph's output depends on the largest graph of its batch).

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.

    Raises:
        ValueError: If a size is not a positive integer, or ``heads`` does not divide ``channels``.

    References:
        Katharopoulos et al., "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention",
        https://arxiv.org/abs/2006.16236.
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        check_heads(channels, heads)
        self.heads = heads
        # Of queries, keys and values, one below the other.
        self.project = nn.Linear(channels, 3 * channels)
        self.output = nn.Linear(channels, channels)

    def forward(self, x: Tensor, places: AttentionPlaces) -> Tensor:
        projected = self.project(x)
        # Sums of many numbers don't fit in half precision.
        projected = projected.to(torch.promote_types(projected.dtype, torch.float32))
        heads = split_heads(_PositiveFeatures.apply(projected), places.stacks, self.heads)
        with torch.autocast(x.device.type, enabled=False):
            attended = [
                _attend(*parts, stack.valid)
                for parts, stack in zip(heads, places.stacks.stacks, strict=True)
            ]
        return self.output(merge_heads(attended, places.stacks).to(x.dtype))


def _attend(query: Tensor, key: Tensor, value: Tensor, valid: Tensor | None) -> Tensor:
    """Features of queries and of keys, and values, ``[g, heads, w, d]``, to the same shape."""
    if valid is not None:
        key = key * valid[:, None, :, None]
    normalizer = query @ key.sum(2, keepdim=True).mT
    return query @ (key.mT @ value) / normalizer.clamp(min=_EPSILON)


class _PositiveFeatures(torch.autograd.Function):
    """ELU(x) + 1 of queries and keys, ``[R, 3 * channels]`` with the values beside them, which stay as they are."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor) -> Tensor:
        queries_and_keys, _ = _parts(projected)
        out = projected.clamp(min=0)
        features, values = _parts(out)
        features += queries_and_keys.clamp(max=0).exp_()
        values.copy_(_parts(projected)[1])
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # The slope is 1 where x is positive, and exp(x), the feature itself, elsewhere.
        features, _ = _parts(ctx.saved_tensors[0])
        of_features, of_values = _parts(gradient)
        return torch.cat([features.clamp(max=1).mul_(of_features), of_values], dim=1)


def _parts(projected: Tensor) -> list[Tensor]:
    """Queries and keys, and values."""
    channels = projected.size(1) // 3
    return projected.split([2 * channels, channels], dim=1)
