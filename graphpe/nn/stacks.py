"""Graphs of similar size, padded and stacked, for what is computed densely inside each graph."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from graphpe.nn.layout import GraphLayout
from graphpe.ragged import offsets_of, ragged_arange

# The most of the pairs of positions in a stack that may be padding.
_MOST_PADDING = 0.2


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
    """All graphs of a batch, in stacks of similar size: less than 20 % of the pairs of positions are padding.

    One large graph in a batch then doesn't make all of them large. A graph without rows is in no stack; a batch
    without rows has one stack of no graphs.

    Args:
        stacks: The stacks, that of the largest graphs first.
        rows: ``[T]`` the row of each position of all stacks, one stack after the other.
        place: ``[R]`` the position of each row.
    """

    stacks: list[Stack]
    rows: Tensor
    place: Tensor

    def gather(self, values: Tensor) -> list[Tensor]:
        """Takes the rows of all graphs: ``[R, c]`` to ``[g, w, c]`` of each stack."""
        shapes = [stack.rows.shape for stack in self.stacks]
        parts = values.index_select(0, self.rows).split([shape.numel() for shape in shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, shapes, strict=True)]

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
    device = layout.ptr.device
    totals, order = (layout.sizes + int(tokens)).sort(descending=True, stable=True)
    descending = [total for total in totals.tolist() if total]
    # A batch without rows has one stack of no graphs, so that layers work as ever.
    shapes = _shapes(descending) or [(0, 1)]
    counts, widths = torch.tensor(shapes).t()
    starts = offsets_of(widths.repeat_interleave(counts).to(device))

    number, position = ragged_arange(starts.diff())
    graph = order[number]
    size, first, token = layout.sizes[graph], layout.ptr[graph], layout.num_nodes + graph
    rows = torch.where(position < size, first + position, torch.where(size > 0, first, token))
    if tokens:
        rows = torch.where(position == size, token, rows)
    valid = position < size + int(tokens)

    place = torch.empty(
        layout.num_nodes + len(totals) * int(tokens), dtype=torch.long, device=device
    )
    here = valid.nonzero()[:, 0]
    place[rows[here]] = here

    first_pair = offsets_of(layout.sizes.square())
    stacks, start, at = [], 0, 0
    for count, width in shapes:
        own = slice(at, at + count * width)
        members = order[start : start + count]
        smallest = descending[start + count - 1] if count else width
        stacks.append(
            Stack(
                rows[own].view(count, width),
                valid[own].view(count, width) if smallest < width else None,
                _pair_rows(layout.sizes[members], first_pair[members], width, first_pair[-1])
                if pairs
                else None,
            )
        )
        start, at = start + count, own.stop
    return Stacks(stacks, rows, place)


def _shapes(descending: list[int]) -> list[tuple[int, int]]:
    """Number of graphs and width of as few stacks as keep to the most padding, from sizes in descending order."""
    squares = [0, *accumulate(size * size for size in descending)]
    shapes, start = [], 0
    while start < len(descending):
        width = descending[start]

        def is_too_much(end: int, start: int = start, width: int = width) -> bool:
            # The mean square of descending sizes falls, so that this is false first, then true.
            return squares[end] - squares[start] <= (1 - _MOST_PADDING) * width**2 * (end - start)

        end = bisect_left(range(len(squares)), True, lo=start + 1, key=is_too_much) - 1
        shapes.append((end - start, width))
        start = end
    return shapes


def _pair_rows(sizes: Tensor, first_pair: Tensor, width: int, no_pair: Tensor) -> Tensor:
    """``[g, w, w]`` the row of each pair of nodes."""
    position = torch.arange(width, device=sizes.device)
    is_node = position < sizes[:, None]
    of_node = first_pair[:, None] + position * sizes[:, None]
    rows = of_node[:, :, None] + position
    return torch.where(is_node[:, :, None] & is_node[:, None, :], rows, no_pair)
