"""Keys of random draws: one per graph, from the seed and from what the graph is."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.linalg.draws.random_numbers import combine


def graph_keys(part: Block | LargeGraph, seed: int) -> Tensor:
    """Keys for `graphpe.linalg.draws.random_numbers`, one per graph.

    A key is a hash of the seed, the number of nodes and the edges with their weights. So a graph has the same draws
    alone, in any batch and at any place in a dataset, and in whatever order its edges are stored; and the draws change
    altogether with the seed, an edge or a weight. No weights are the same as weights of 1. Graphs with equal node
    numbers, edges and weights have equal draws.

    Args:
        part: A block of graphs, or one large graph.
        seed: An integer from 0 to 2^63 - 1.

    Returns:
        ``[b]`` int64 on the device of the graphs.
    """
    graphs = part.graphs
    numbers = part.numbers if isinstance(part, Block) else torch.tensor([part.number])
    slot, column = graphs.edges_of(numbers)
    source, target = graphs.edge_index[:, column].long()
    if graphs.edge_weight is None:
        weight = torch.ones(len(column), dtype=torch.float64, device=graphs.device)
    else:
        weight = graphs.edge_weight[column].double() + 0.0  # so that -0.0 is 0.0
    edge = combine(combine(source, target), weight.view(torch.int64))

    # Sums do not depend on the order of the edges; they wrap around.
    edges = torch.zeros(len(numbers), dtype=torch.int64, device=graphs.device)
    edges.index_add_(0, slot, edge)
    start = torch.full((1,), seed, device=graphs.device)
    return combine(combine(start, torch.full_like(start, part.n)), edges)
