"""Attention by a fused kernel of a GPU that takes graphs of any size side by side, without padding."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from graphpe.nn.layout import GraphLayout
from graphpe.ragged import offsets_of


def block_mask(graph: Tensor, compiled: bool = True) -> BlockMask:
    """Tells which blocks of rows and columns hold pairs of the same graph.

    Args:
        graph: ``[R]`` the graph of each row.
        compiled: Whether to compile it, which keeps no ``[R, R]`` matrix.
    """

    def is_same_graph(batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
        return graph[row] == graph[column]

    make = _compiled(create_block_mask) if compiled else create_block_mask
    return make(is_same_graph, None, None, len(graph), len(graph), device=graph.device)


def flex_attend(
    projected: Tensor,
    layout: GraphLayout,
    graph: Tensor,
    mask: BlockMask,
    heads: int,
    bias: Tensor | None,
    compiled: bool = True,
) -> Tensor:
    """Attends.

    Args:
        projected: ``[R, 3 * channels]`` queries, keys and values side by side.
        layout: Where the graphs lie.
        graph: ``[R]`` the graph of each row; tokens come after all nodes.
        mask: That of :func:`block_mask`.
        heads: Number of heads.
        bias: ``[P + 1, heads]`` what is added to the logits of each pair of nodes, and of each pair with a token.
        compiled: Whether to compile the kernel.

    Returns:
        ``[R, channels]``.
    """
    query, key, value = projected.unflatten(1, (3, heads, -1)).permute(1, 2, 0, 3)[:, None]
    add_bias = None
    if bias is not None:
        num_nodes, no_pair = layout.num_nodes, len(bias) - 1
        size, first = layout.sizes[graph], layout.ptr[graph]
        node = torch.arange(len(graph), device=graph.device)
        # The row of the pair of a node and the first node of its graph, less the number of that node.
        start = offsets_of(layout.sizes.square())[graph] + (node - first) * size - first

        def add_bias(
            score: Tensor, batch: Tensor, head: Tensor, row: Tensor, column: Tensor
        ) -> Tensor:
            is_pair = (row < num_nodes) & (column < num_nodes) & (graph[row] == graph[column])
            return score + bias[torch.where(is_pair, start[row] + column, no_pair), head]

    attend = _compiled(flex_attention) if compiled else flex_attention
    mixed = attend(query, key, value, score_mod=add_bias, block_mask=mask)
    return mixed[0].transpose(0, 1).flatten(1)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    # Batches have different numbers of rows.
    return torch.compile(function, dynamic=True)
