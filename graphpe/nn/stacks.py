"""Graphs of similar size, padded and stacked, for what is computed densely inside each graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphpe.nn.layout import GraphLayout
from graphpe.ragged import offsets_of


@dataclass(frozen=True)
class Stack:
    """Some graphs, each padded to the rows of the largest.

    Args:
        rows: ``[g, w]`` the row of each position; padding repeats the first row of its graph, so that graphs never
            see each other.
        valid: ``[g, w]`` which positions are no padding; None if there is none.
        pairs: ``[g, w, w]`` the row of each pair (i, j) of nodes; P, the number of all pairs, where i or j is padding
            or a token. None if pairs were not asked for.
    """

    rows: Tensor
    valid: Tensor | None
    pairs: Tensor | None

    def gather(self, values: Tensor) -> Tensor:
        """Takes the rows of the graphs: ``[R, c]`` to ``[g, w, c]``."""
        return values.index_select(0, self.rows.flatten()).unflatten(0, self.rows.shape)

    def gather_pairs(self, values: Tensor) -> Tensor:
        """Takes the pairs of the graphs: ``[P + 1, c]`` to ``[g, w, w, c]``."""
        return values.index_select(0, self.pairs.flatten()).unflatten(0, self.pairs.shape)


@dataclass(frozen=True)
class Stacks:
    """All graphs of a batch, in stacks of similar size (within a factor of two).

    One large graph in a batch then doesn't make all of them large. A graph without rows is in no stack; a batch
    without rows has one stack of no graphs.

    Args:
        stacks: The stacks.
        place: ``[R]`` where each row lies in the positions of all stacks, one after the other.
    """

    stacks: list[Stack]
    place: Tensor

    def unstack(self, values: list[Tensor]) -> Tensor:
        """Leaves the padding out: ``[g, w, c]`` of each stack to ``[R, c]``."""
        return torch.cat([value.flatten(0, 1) for value in values]).index_select(0, self.place)


def stacks_of(layout: GraphLayout, tokens: bool = False, pairs: bool = False) -> Stacks:
    """Stacks the graphs of a batch.

    Args:
        layout: Where the graphs lie.
        tokens: Whether each graph has one more row: that of graph g comes after all nodes, at N + g.
        pairs: Whether to tell the rows of pairs.

    Returns:
        The stacks of N rows, or of N + B with tokens.
    """
    sizes, device = layout.sizes, layout.ptr.device
    totals = sizes + int(tokens)
    has_rows = totals > 0
    # The exponent of the smallest power of two that is not less.
    size_class = totals.clamp(min=1).double().log2().ceil()
    token = layout.num_nodes + torch.arange(layout.num_graphs, device=device)
    first_pair = offsets_of(sizes.square())
    place = torch.empty(int(totals.sum()), dtype=torch.long, device=device)
    stacks: list[Stack] = []
    start = 0
    # A batch without rows has one stack of no graphs, so that layers work as ever.
    for number in size_class[has_rows].unique().tolist() or [0]:
        graphs = (has_rows & (size_class == number)).nonzero()[:, 0]
        width = int(totals[graphs].max()) if len(graphs) else 1
        position = torch.arange(width, device=device)
        size, ptr, last = (t[graphs, None] for t in (sizes, layout.ptr, token))
        valid = position < totals[graphs, None]
        is_node = position < size
        rows = torch.where(is_node, ptr + position, torch.where(size > 0, ptr, last))
        if tokens:
            rows = torch.where(position == size, last, rows)
        place[rows[valid]] = start + valid.flatten().nonzero()[:, 0]
        start += valid.numel()
        pair_rows = None
        if pairs:
            pair_rows = first_pair[graphs, None, None] + position[:, None] * size[..., None]
            pair_rows = pair_rows + position
            is_pair = is_node[:, :, None] & is_node[:, None, :]
            pair_rows = torch.where(is_pair, pair_rows, first_pair[-1])
        stacks.append(Stack(rows, None if bool(valid.all()) else valid, pair_rows))
    return Stacks(stacks, place)
