"""Attention with a bias from encodings of pairs that keeps no matrix of weights for the backward pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention


def recomputed_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    valid: Tensor | None,
    weight: Tensor | None = None,
    pairs: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    r"""Computes :math:`\mathrm{Drop}(\mathrm{softmax}(q k^\top / \sqrt{d} + B p))\, v` for stacked graphs.

    ``scaled_dot_product_attention`` keeps the bias and the weights ``[g, heads, w, w]`` of each layer for the backward
    pass, if the bias needs a gradient or weights are dropped. Here they are computed again; only which weights were
    dropped is kept, in a byte each.

    Args:
        query: ``[g, heads, w, d]``.
        key: ``[g, heads, w, d]``.
        value: ``[g, heads, w, d]``.
        valid: ``[g, w]`` which keys are no padding; None if all are.
        weight: ``[heads, c]`` B, which maps encodings to the bias of each head; None: there is no bias.
        pairs: ``[g, c, w * w]`` encodings p of pairs.
        dropout: Probability of dropout of weights.

    Returns:
        ``[g, heads, w, d]`` in the dtype of the query.
    """
    with torch.autocast(query.device.type, enabled=False):
        return _RecomputedAttention.apply(query, key, value, valid, weight, pairs, dropout)


class _RecomputedAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        valid: Tensor | None,
        weight: Tensor | None,
        pairs: Tensor | None,
        dropout: float,
    ) -> Tensor:
        shape = query.shape
        # [g * heads, w, d], as products of matrices want them
        query, key, value = (part.flatten(0, 1) for part in (query, key, value))
        bias = _bias(shape, query, valid, weight, pairs)
        kept = None
        if dropout:
            weights = _softmax(bias, query, key)
            # On a CPU this is several times as fast as bernoulli_ and masked_fill_.
            kept = torch.rand_like(weights) >= dropout
            out = weights.mul_(kept) @ value.div(1 - dropout)
        else:
            out = scaled_dot_product_attention(
                *(part.view(shape) for part in (query, key, value)),
                attn_mask=bias.view(*shape[:3], shape[2]),
            )
        ctx.save_for_backward(query, key, value, valid, weight, pairs, kept)
        ctx.dropout, ctx.shape = dropout, shape
        return out.view(shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, valid, weight, pairs, kept = ctx.saved_tensors
        graphs, heads, width, _ = ctx.shape
        scale = query.size(-1) ** -0.5
        gradient = gradient.reshape(query.shape) / (1 - ctx.dropout)
        weights = _softmax(_bias(ctx.shape, query, valid, weight, pairs), query, key)
        of_weights = gradient @ value.mT
        used = weights
        if kept is not None:
            used = weights * kept
            of_weights *= kept
        of_value = used.mT @ gradient
        of_logits = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_query, of_key = (of_logits @ key).mul_(scale), (of_logits.mT @ query).mul_(scale)
        of_weight = of_pairs = None
        if weight is not None:
            of_bias = of_logits.view(graphs, heads, width * width)
            if ctx.needs_input_grad[4]:
                products = of_bias @ pairs.to(of_bias.dtype).mT
                of_weight = products.sum(0, dtype=weight.dtype)
            if ctx.needs_input_grad[5]:
                across = weight.t().to(of_bias.dtype).expand(graphs, -1, -1)
                of_pairs = torch.bmm(across, of_bias).to(pairs.dtype)
        inputs = (part.view(ctx.shape) for part in (of_query, of_key, of_value))
        return *inputs, None, of_weight, of_pairs, None


def _bias(
    shape: torch.Size,
    query: Tensor,
    valid: Tensor | None,
    weight: Tensor | None,
    pairs: Tensor | None,
) -> Tensor:
    """What is added to the logits, ``[g * heads, w, w]``: the bias, and minus infinity for keys that are padding."""
    graphs, heads, width, _ = shape
    if weight is None:
        bias = query.new_zeros(graphs, heads, width, width)
    else:
        across = weight.to(query.dtype).expand(graphs, -1, -1)
        bias = torch.bmm(across, pairs.to(query.dtype)).view(graphs, heads, width, width)
    if valid is not None:
        padding = torch.zeros_like(valid, dtype=bias.dtype).masked_fill_(~valid, -torch.inf)
        bias += padding[:, None, None]
    return bias.flatten(0, 1)


def _softmax(bias: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """The weights ``[g * heads, w, w]``; overwrites the bias."""
    return bias.baddbmm_(query, key.mT, alpha=query.size(-1) ** -0.5).softmax(-1)
