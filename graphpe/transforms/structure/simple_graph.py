"""The simple undirected graph that structural encodings look at: no loops, parallel edges or weights."""

from __future__ import annotations

import scipy.sparse
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.linalg.structure.neighbors import Neighbors


def simple_neighbors(part: Block | LargeGraph) -> Neighbors:
    """The neighbours of all nodes; those of a block are numbered graph by graph."""
    if isinstance(part, Block):
        return part.shared(_neighbors_of_block)
    return Neighbors.of_sparse(part.undirected_adjacency)


def _neighbors_of_block(block: Block) -> Neighbors:
    return Neighbors.of_stack(block.undirected_adjacency)


def simple_adjacency(block: Block) -> Tensor:
    """``[b, n, n]`` float64 zeros and ones with a zero diagonal."""
    return block.shared(_adjacency_of_block)


def _adjacency_of_block(block: Block) -> Tensor:
    adjacency = (block.undirected_adjacency > 0).double()
    adjacency.diagonal(dim1=-2, dim2=-1).zero_()
    return adjacency


def simple_sparse_adjacency(graph: LargeGraph) -> scipy.sparse.csr_array:
    """``[n, n]`` float64 ones, without a diagonal."""
    neighbors = simple_neighbors(graph)
    ends = (neighbors.source.numpy(), neighbors.target.numpy())
    ones = torch.ones(len(neighbors.source), dtype=torch.float64).numpy()
    return scipy.sparse.csr_array((ones, ends), shape=(graph.n, graph.n))


def by_graph(values: Tensor, part: Block | LargeGraph) -> Tensor:
    """Values ``[N, d]`` or ``[N]`` of all nodes as ``[b, n, d]``."""
    graphs = len(part) if isinstance(part, Block) else 1
    width = 1 if values.dim() == 1 else values.shape[1]
    return values.reshape(graphs, part.n, width)
