"""What the encodings from distances share: the lengths of paths in a block or in a large graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_number
from graphpe.linalg.distances import shortest_paths as distances

# One more than a cap stands for no path, and float32 has to tell the two apart.
_LARGEST_CAP = 2**20

# For larger graphs it is faster to search from a few nodes than to take distances of all pairs.
_MOST_NODES_OF_ALL_PAIRS = 64


def require_cap(cap: float) -> None:
    """Raises a ValueError unless ``cap`` is a number over 0 and at most 2^20."""
    require_number("cap", cap, 0.0, may_equal=False)
    if cap > _LARGEST_CAP:
        raise ValueError(
            f"cap is {cap!r}; it must be at most {_LARGEST_CAP:,}, as a larger one could not be told from cap + 1, "
            "which stands for no path; lower it, and make edge_weight smaller if distances are that long"
        )


def hop_distances(block: Block) -> Tensor:
    """``[b, n, n]`` float32 number of edges of a shortest path from u to v, inf where none leads."""
    return distances.hop_distances(block.adjacency > 0)


def path_lengths(block: Block) -> Tensor:
    """``[b, n, n]`` float64 sum of the edge weights along a shortest path, inf where none leads.

    Of parallel edges the shortest counts; an edge of weight 0 connects nothing.
    """
    if block.graphs.edge_weight is None:
        return block.shared(hop_distances).double()
    slot, source, target, weight = _edges(block)
    lengths = torch.full_like(block.adjacency, torch.inf)
    flat = (slot * block.n + source) * block.n + target
    lengths.view(-1).scatter_reduce_(0, flat, weight, "amin")
    return distances.shortest_path_lengths(lengths)


def distances_to(part: Block | LargeGraph, weighted: bool = False) -> Callable[[Tensor], Tensor]:
    """How far it is to some nodes: a function of nodes ``[b, l]``, one row per graph.

    Its value is ``[b, n, l]``, the distance from each node of the graph to each of them, inf where no path leads.
    """
    if isinstance(part, Block) and (
        part.n <= _MOST_NODES_OF_ALL_PAIRS or part.adjacency.device.type != "cpu"
    ):
        distance = part.shared(path_lengths if weighted else hop_distances)
        return lambda nodes: distance.gather(2, nodes[:, None, :].expand(-1, part.n, -1))

    backward = _backward_edges(part)
    graphs = len(part) if isinstance(part, Block) else 1
    first_nodes = torch.arange(graphs)[:, None] * part.n

    def search(nodes: Tensor) -> Tensor:
        # One search from a node of each graph: they are not connected, so each finds its own only.
        columns = [
            csgraph.dijkstra(backward, indices=starts, unweighted=not weighted, min_only=True)
            for starts in (nodes.cpu() + first_nodes).t().int().numpy()
        ]
        return torch.from_numpy(np.stack(columns, axis=-1)).view(graphs, part.n, len(columns))

    return search


def _edges(part: Block | LargeGraph) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Graph, source, target and float64 length of the edges of positive weight, each ``[e]``."""
    numbers = part.numbers if isinstance(part, Block) else torch.tensor([part.number])
    slot, column = part.graphs.edges_of(numbers)
    source, target = part.graphs.edge_index[:, column].long()
    if part.graphs.edge_weight is None:
        return slot, source, target, torch.ones_like(slot, dtype=torch.float64)
    weight = part.graphs.edge_weight[column].double()
    is_edge = weight > 0
    return slot[is_edge], source[is_edge], target[is_edge], weight[is_edge]


def _backward_edges(part: Block | LargeGraph) -> sp.csr_array:
    """The lengths of all edges v→u at ``[u, v]``, all graphs in one matrix; of parallel ones the shortest."""
    slot, source, target, weight = (values.cpu().numpy() for values in _edges(part))
    row, column = slot * part.n + target, slot * part.n + source
    order = np.lexsort((weight, column, row))
    row, column, weight = row[order], column[order], weight[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    n = part.n * (len(part) if isinstance(part, Block) else 1)
    # Searches of scipy 1.12 need int32, which it also makes of int32.
    ends = row[is_first].astype(np.int32), column[is_first].astype(np.int32)
    return sp.csr_array((weight[is_first], ends), shape=(n, n))
