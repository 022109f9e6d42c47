"""Finds the graphs that can't be read, and puts others in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch_geometric.data import Data

from graphpe.files import one_line
from graphpe.reading import num_nodes_of


def find_invalid(count: int, read: Callable[[int, int], object]) -> dict[int, str]:
    """Numbers of the graphs that can't be read, and why.

    Args:
        count: Number of graphs.
        read: Reads the graphs from a first to before a last one, and raises where it can't.

    Raises:
        TypeError, ValueError: If no graph can be read, or each can alone but not all together.
    """
    invalid: dict[int, str] = {}

    def search(start: int, stop: int) -> None:
        try:
            read(start, stop)
        except (ValueError, TypeError) as error:
            if stop - start == 1:
                invalid[start] = one_line(error)
                return
            known = len(invalid)
            middle = (start + stop) // 2
            search(start, middle)
            search(middle, stop)
            if len(invalid) == known:  # each alone is well: what is wrong lies between them
                raise

    search(0, count)
    if len(invalid) == count:
        read(0, count)  # with its own error
    return invalid


def placeholder(data: object, weighted: bool) -> Data:
    """A graph of the same size as one that can't be read, as far as that has one."""
    num_nodes, num_edges = 0, 0
    if isinstance(data, Data):
        try:
            num_nodes = num_nodes_of(data)
        except (ValueError, TypeError, RuntimeError):
            num_nodes = 0
        edge_index = data.get("edge_index")
        if num_nodes and isinstance(edge_index, torch.Tensor) and edge_index.dim() == 2:
            num_edges = edge_index.shape[1]
    graph = Data(edge_index=torch.zeros(2, num_edges, dtype=torch.long), num_nodes=num_nodes)
    if weighted:
        graph.edge_weight = torch.ones(num_edges)
    return graph


def readable(graphs: Sequence[Data], invalid: Callable[[int], bool], first: int) -> list[Data]:
    """The graphs with others in place of those that can't be read.

    Args:
        graphs: The graphs.
        invalid: Whether the graph of a number can't be read.
        first: The number of the first one.
    """
    weighted = any(
        data.get("edge_weight") is not None
        for number, data in enumerate(graphs, start=first)
        if not invalid(number)
    )
    return [
        placeholder(data, weighted) if invalid(number) else data
        for number, data in enumerate(graphs, start=first)
    ]
