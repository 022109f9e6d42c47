"""Groups of rows (i, j) of nodes i and columns j between which no messages are passed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from graphpe.nn.pairs.neighbor_rows import NodeRows, RowSets, neighbor_rows


@dataclass(frozen=True)
class RowGroup:
    """Rows that have no neighbours outside.

    Args:
        rows: Where they lie.
        incoming: For each row, the rows that send it messages, counted from the first row of the group.
        outgoing: For each row, the rows that it sends messages to.
    """

    rows: slice
    incoming: RowSets
    outgoing: RowSets


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows, one after the other, in an order of their own if ``order`` is not None.

    Args:
        groups: The groups.
        order: ``[P]`` the row that comes first, second, ...
        position: ``[P]`` the place of each row in that order.
    """

    groups: list[RowGroup]
    order: Tensor | None = None
    position: Tensor | None = None

    def arrange(self, x: Tensor) -> Tensor:
        """Brings rows into the order of the groups."""
        return x if self.order is None else x.index_select(0, self.order)

    def restore(self, x: Tensor) -> Tensor:
        """Brings rows from the order of the groups into their own."""
        return x if self.position is None else x.index_select(0, self.position)


def one_group(pairs: NodeRows, edge_index: Tensor) -> RowGroups:
    """Takes all rows as one group."""
    source, target = edge_index
    incoming = neighbor_rows(pairs, target, source)
    outgoing = neighbor_rows(pairs, source, target)
    return RowGroups([RowGroup(slice(0, len(pairs.source)), incoming, outgoing)])


def row_groups(pairs: NodeRows, edge_index: Tensor, size: int) -> RowGroups:
    """Makes groups of about ``size`` rows: of some small graphs, or of some columns of a large one.

    Args:
        pairs: The rows.
        edge_index: ``[2, E]`` the edges, inside graphs.
        size: Number of rows. Only one column of more nodes than that is more than twice as large.
    """
    whole = one_group(pairs, edge_index).groups[0]
    num_rows = len(pairs.source)
    if num_rows <= size:
        return RowGroups([whole])
    order, unit = _units(pairs, edge_index, size)
    # A group begins with the first unit that begins in each range of `size` rows.
    begin = torch.cat([unit.new_zeros(1), 1 + unit.diff().nonzero()[:, 0]])
    bounds = [*begin[_is_first(begin // size)].tolist(), num_rows]
    incoming, outgoing, position = whole.incoming, whole.outgoing, None
    if order is not None:
        position = torch.empty_like(order)
        position[order] = torch.arange(num_rows, device=order.device)
        incoming = incoming.reordered(order, position)
        outgoing = outgoing.reordered(order, position)
    slices = [slice(first, last) for first, last in pairwise(bounds)]
    groups = map(RowGroup, slices, incoming.split(bounds), outgoing.split(bounds))
    return RowGroups(list(groups), order, position)


def _units(pairs: NodeRows, edge_index: Tensor, size: int) -> tuple[Tensor | None, Tensor]:
    """Rows with messages between them: a range of nodes that no edge leaves, and so many columns as are ``size`` rows.

    Returns:
        An order in which the rows of each unit lie together, None if they do already, and the unit of each row in
        that order, ascending.
    """
    nodes = _node_ranges(len(pairs.start), edge_index)
    width = (size // torch.bincount(nodes)).clamp(min=1)
    own = nodes[pairs.source]
    column = torch.arange(len(own), device=own.device) - pairs.start[pairs.source]
    part = column // width[own]
    num_parts = int(part.max()) + 1
    if num_parts == 1:
        return None, own
    unit, order = torch.sort(own * num_parts + part, stable=True)
    return order, unit


def _node_ranges(num_nodes: int, edge_index: Tensor) -> Tensor:
    """``[N]`` the number of a range for each node, ascending, so that no edge joins two of them."""
    first, last = edge_index.amin(0), edge_index.amax(0)
    # How many edges pass from before each node to it or behind it.
    passing = torch.bincount(first + 1, minlength=num_nodes + 1)
    passing = (passing - torch.bincount(last + 1, minlength=num_nodes + 1)).cumsum(0)[:num_nodes]
    return (passing == 0).cumsum(0) - 1


def _is_first(values: Tensor) -> Tensor:
    """Whether each of some ascending values is the first of its kind."""
    return torch.cat([values.new_ones(1, dtype=torch.bool), values.diff() > 0])
