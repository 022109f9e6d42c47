"""From rows to the heads of stacked graphs, and back, without a copy more than needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from graphpe.nn.stacks import Stacks


def split_heads(rows: Tensor, stacks: Stacks, heads: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Takes queries, keys and values of all graphs, head by head.

    Gradients of padding are left out: nothing that is used may depend on it.

    Args:
        rows: ``[R, 3 * heads * d]`` queries, keys and values side by side.
        stacks: Where the rows of each graph lie.
        heads: Number of heads.

    Returns:
        Queries, keys and values, each ``[g, heads, w, d]``, of each stack.
    """
    parts = _SplitHeads.apply(rows, stacks, heads)
    return [parts[start : start + 3] for start in range(0, len(parts), 3)]


def merge_heads(values: list[Tensor], stacks: Stacks) -> Tensor:
    """Leaves the padding out and puts heads side by side: ``[g, heads, w, d]`` of each stack to ``[R, heads * d]``."""
    return _MergeHeads.apply(stacks, *values)


class _SplitHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, stacks: Stacks, heads: int) -> tuple[Tensor, ...]:
        ctx.stacks, ctx.heads = stacks, heads
        positions = rows.index_select(0, stacks.rows)
        return tuple(
            part for own in _by_head(positions, stacks, 3 * heads) for part in own.chunk(3, dim=1)
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        columns = 3 * ctx.heads * gradients[0].size(-1)
        positions = gradients[0].new_empty(len(ctx.stacks.rows), columns)
        parts = [
            part
            for own in _by_head(positions, ctx.stacks, 3 * ctx.heads)
            for part in own.chunk(3, dim=1)
        ]
        for part, gradient in zip(parts, gradients, strict=True):
            part.copy_(gradient)
        return positions.index_select(0, ctx.stacks.place), None, None


class _MergeHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, stacks: Stacks, *values: Tensor) -> Tensor:
        ctx.stacks, ctx.heads = stacks, values[0].size(1)
        positions = values[0].new_empty(len(stacks.rows), ctx.heads * values[0].size(-1))
        for own, value in zip(_by_head(positions, stacks, ctx.heads), values, strict=True):
            own.copy_(value)
        return positions.index_select(0, stacks.place)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        positions = gradient.new_zeros(len(ctx.stacks.rows), gradient.size(1))
        positions.index_copy_(0, ctx.stacks.place, gradient)
        return None, *_by_head(positions, ctx.stacks, ctx.heads)


def _by_head(positions: Tensor, stacks: Stacks, heads: int) -> list[Tensor]:
    """Views ``[g, heads, w, d]`` of the positions ``[T, heads * d]`` of each stack."""
    shapes = [stack.rows.shape for stack in stacks.stacks]
    parts = positions.split([shape.numel() for shape in shapes])
    return [
        part.view(*shape, heads, positions.size(1) // heads).transpose(1, 2)
        for part, shape in zip(parts, shapes, strict=True)
    ]
