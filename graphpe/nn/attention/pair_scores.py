"""The attention of GRIT over all pairs of nodes, in blocks that stay in a CPU's cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from graphpe.nn.layout import NodePairs

# exp of a logit in this range neither overflows nor vanishes, so no maximum has to be subtracted before.
_LARGEST_LOGIT = 5.0
# The slope of the signed root is unbounded at 0; below the root of 1e-6 it is taken to be that at 1e-6, which is 500.
_SMALLEST_ROOT = 1e-3
# About so many pairs at a time stay in a CPU's cache with all that is computed of them.
_ROWS_IN_CACHE = 2048


def attend_by_pair_scores(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pair: Tensor,
    weight: Tensor,
    bias: Tensor,
    logit_weight: Tensor,
    pairs: NodePairs,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Computes scores of pairs, and the sums over j that they weigh.

    .. math::
        \hat e_{ij} &= \mathrm{ReLU}\big(\rho\big((q_i + k_j) \odot E_w e_{ij}\big) + E_b e_{ij}\big),
            \quad \rho(z) = \sqrt{\mathrm{ReLU}(z)} - \sqrt{\mathrm{ReLU}(-z)} \\
        a_{ij} &= \mathrm{Drop}\big(\mathrm{softmax}_j\, \mathrm{clamp}(A \hat e_{ij},\, -5,\, 5)\big), \qquad
        \textstyle\sum_j a_{ij} v_j, \quad \sum_j a_{ij} \hat e_{ij}

    For the backward pass only the scores are kept, and which weights were dropped; the rest is computed again. The
    slope of :math:`\rho`, unbounded at 0, is taken to be at most 500, so that gradients stay finite.

    Args:
        query: ``[N, channels]``.
        key: ``[N, channels]``.
        value: ``[N, channels]``, head after head.
        pair: ``[P, channels]`` the vectors e.
        weight: ``[2 * channels, channels]`` :math:`E_w` and, below, :math:`E_b`.
        bias: ``[2 * channels]`` their biases.
        logit_weight: ``[heads, channels]`` A.
        pairs: Which nodes the pairs join.
        dropout: Probability of dropout of weights.

    Returns:
        The scores ``[P, channels]``, and the two sums ``[N, channels]``, in the dtype of ``query``.
    """
    dtype = query.dtype
    rows = (t.to(dtype) for t in (query, key, value, pair, weight, bias, logit_weight))
    kept = None
    if dropout:
        # Much faster than bernoulli_ on a CPU.
        kept = torch.rand(len(pairs), len(logit_weight), device=pair.device) >= dropout
    with torch.autocast(query.device.type, enabled=False):
        return _PairScores.apply(*rows, pairs, kept, dropout)


@dataclass(frozen=True)
class _Block:
    """All pairs of some nodes.

    Args:
        rows: Where the pairs lie.
        source: ``[R]`` node i of each, counted from the first node of the block.
        target: ``[R]`` node j of each.
        nodes: The nodes.
    """

    rows: slice
    source: Tensor
    target: Tensor
    nodes: slice

    def sum(self, values: Tensor) -> Tensor:
        """Sums over the pairs of each node, ``[R, c]`` to ``[nodes, c]``, in float32 at least."""
        wide = values.to(torch.promote_types(values.dtype, torch.float32))
        total = wide.new_zeros(self.nodes.stop - self.nodes.start, values.size(1))
        return total.index_add_(0, self.source, wide)

    def of_source(self, values: Tensor) -> Tensor:
        """The row of node i of each pair, ``[N, c]`` to ``[R, c]``."""
        return values[self.nodes].index_select(0, self.source)


def _blocks(pairs: NodePairs) -> Iterator[_Block]:
    num_nodes, num_pairs = len(pairs.start), len(pairs)
    if pairs.start.device.type != "cpu" or num_pairs <= _ROWS_IN_CACHE:
        yield _Block(slice(0, num_pairs), pairs.source, pairs.target, slice(0, num_nodes))
        return
    # A block begins with the first node that begins in each range of so many rows.
    begins = (pairs.start // _ROWS_IN_CACHE).diff().nonzero()[:, 0] + 1
    nodes = [0, *begins.tolist(), num_nodes]
    rows = [0, *pairs.start[begins].tolist(), num_pairs]
    for (node, next_node), (row, next_row) in zip(pairwise(nodes), pairwise(rows), strict=True):
        where = slice(row, next_row)
        source, target = pairs.source[where] - node, pairs.target[where]
        yield _Block(where, source, target, slice(node, next_node))


class _PairScores(torch.autograd.Function):
    # All [R, channels] are contiguous, and heads are spread to channels and summed by products with a matrix of ones:
    # on a CPU, a broadcast over the channels of a head or a strided operand takes ten times as long.

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        pair: Tensor,
        weight: Tensor,
        bias: Tensor,
        logit_weight: Tensor,
        pairs: NodePairs,
        kept: Tensor | None,
        dropout: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        spread = _spread(logit_weight)
        scores = torch.empty_like(pair)
        total_values, total_scores = torch.empty_like(value), torch.empty_like(value)
        for block in _blocks(pairs):
            both, factor, shift = _mapped(query, key, pair, weight, bias, block)
            z = both.mul_(factor)
            part = torch.add(_signed_root(z), shift, out=scores[block.rows]).relu_()
            weights, _ = _weights(part, logit_weight, block)
            weights = _dropped(weights, kept, dropout, block) @ spread
            total_scores[block.nodes] = block.sum(part * weights)
            values = value.index_select(0, block.target)
            total_values[block.nodes] = block.sum(values.mul_(weights))
        ctx.save_for_backward(query, key, value, pair, weight, bias, logit_weight, scores, kept)
        ctx.pairs, ctx.dropout = pairs, dropout
        ctx.set_materialize_grads(False)
        return scores, total_values, total_scores

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_scores: Tensor | None, of_values: Tensor | None, of_totals: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        query, key, value, pair, weight, bias, logit_weight, scores, kept = ctx.saved_tensors
        spread = _spread(logit_weight)
        of_values, of_totals = (
            torch.zeros_like(value) if t is None else t for t in (of_values, of_totals)
        )
        of_query, of_pair = torch.empty_like(query), torch.empty_like(pair)
        wide = torch.promote_types(query.dtype, torch.float32)
        of_key, of_value, of_weight, of_bias, of_logit_weight = sums = [
            torch.zeros_like(t, dtype=wide) for t in (key, value, weight, bias, logit_weight)
        ]
        for block in _blocks(ctx.pairs):
            part = scores[block.rows]
            both, factor, _ = _mapped(query, key, pair, weight, bias, block)
            weights, is_inside = _weights(part, logit_weight, block)
            dropped = _dropped(weights, kept, ctx.dropout, block) @ spread

            # From the two sums to values, weights and logits.
            of_sum, of_part = block.of_source(of_values), block.of_source(of_totals)
            by_channel = value.index_select(0, block.target).mul_(of_sum).addcmul_(part, of_part)
            of_value.index_add_(0, block.target, of_sum.mul_(dropped).to(wide))
            of_weights = _dropped(linear(by_channel, spread), kept, ctx.dropout, block)
            inner = block.sum(of_weights * weights).to(weights.dtype)
            of_logits = of_weights.sub(inner.index_select(0, block.source)).mul_(weights)
            of_logits = of_logits.masked_fill_(~is_inside, 0)
            of_logit_weight.addmm_(of_logits.t().to(wide), part.to(wide))

            # From the scores to what they were made of.
            of_part.mul_(dropped).addmm_(of_logits, logit_weight)
            if of_scores is not None:
                of_part.add_(of_scores[block.rows])
            of_shift = torch.ops.aten.threshold_backward(of_part, part, 0)  # that of ReLU
            root = (both * factor).abs_().sqrt_()
            of_z = of_shift / root.clamp_(min=_SMALLEST_ROOT).mul_(2)
            of_factor, of_both = both.mul_(of_z), factor.mul_(of_z)
            of_query[block.nodes] = block.sum(of_both).to(query.dtype)
            of_key.index_add_(0, block.target, of_both.to(wide))
            halves = (t.chunk(2) for t in (weight, of_weight, of_bias))
            made = zip((of_factor, of_shift), *halves, strict=True)
            of_rows = of_pair[block.rows].zero_()
            for of_mapped, its_weight, of_its_weight, of_its_bias in made:
                of_rows.addmm_(of_mapped, its_weight)
                of_its_weight.addmm_(of_mapped.t().to(wide), pair[block.rows].to(wide))
                of_its_bias += of_mapped.sum(0, dtype=wide)
        of_key, of_value, *of_parameters = (t.to(query.dtype) for t in sums)
        return of_query, of_key, of_value, of_pair, *of_parameters, None, None, None


def _mapped(
    query: Tensor, key: Tensor, pair: Tensor, weight: Tensor, bias: Tensor, block: _Block
) -> tuple[Tensor, Tensor, Tensor]:
    """q + k, E_w e and E_b e of the pairs of a block, ``[R, channels]`` each."""
    both = block.of_source(query).add_(key.index_select(0, block.target))
    rows = pair[block.rows]
    factor, shift = map(partial(linear, rows), weight.chunk(2), bias.chunk(2))
    return both, factor, shift


def _signed_root(z: Tensor) -> Tensor:
    """ρ, ``sign(z) √|z|``."""
    return z.abs().sqrt_().copysign_(z)


def _weights(scores: Tensor, logit_weight: Tensor, block: _Block) -> tuple[Tensor, Tensor]:
    """The softmax ``[R, heads]``, and which logits are not clamped."""
    logits = linear(scores, logit_weight)
    is_inside = logits.abs() <= _LARGEST_LOGIT
    weights = logits.clamp_(-_LARGEST_LOGIT, _LARGEST_LOGIT).exp_()
    total = block.sum(weights).to(weights.dtype)
    return weights.div_(total.index_select(0, block.source)), is_inside


def _dropped(weights: Tensor, kept: Tensor | None, dropout: float, block: _Block) -> Tensor:
    if kept is None:
        return weights
    return torch.where(kept[block.rows], weights / (1 - dropout), 0)


def _spread(logit_weight: Tensor) -> Tensor:
    """``[heads, channels]`` 1 where a channel is of a head."""
    heads, channels = logit_weight.shape
    head = torch.arange(heads, device=logit_weight.device)
    owner = head.repeat_interleave(channels // heads)
    return (head[:, None] == owner).to(logit_weight.dtype)
