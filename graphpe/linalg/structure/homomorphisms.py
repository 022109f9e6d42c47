"""Rooted homomorphism counts of trees and cycles: numbers of maps that keep edges and take the root to a node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from graphpe.linalg.cached_parts import graphs_at_a_time
from graphpe.linalg.structure.neighbors import Neighbors
from graphpe.linalg.walks.return_probabilities import diagonals_of_symmetric_powers

# A rooted tree is the sorted tuple of the trees that hang from its root; a single node is ().
Tree = tuple["Tree", ...]


@cache
def rooted_trees(num_nodes: int) -> tuple[Tree, ...]:
    """All rooted trees with a number of nodes, each once, in a fixed order: 1, 1, 2, 4, 9, 20, 48, ... of them."""
    return tuple(sorted(_forests(num_nodes - 1, num_nodes - 1)))


@cache
def _forests(num_nodes: int, largest: int) -> tuple[Tree, ...]:
    """The sorted tuples of trees with ``num_nodes`` nodes in all and at most ``largest`` in each."""
    if num_nodes == 0:
        return ((),)
    found: list[Tree] = []
    for size in range(1, min(num_nodes, largest) + 1):
        for repeats in range(1, num_nodes // size + 1):
            for rest in _forests(num_nodes - size * repeats, size - 1):
                for trees in combinations_with_replacement(rooted_trees(size), repeats):
                    found.append(tuple(sorted((*rest, *trees))))
    return tuple(found)


def tree_homomorphisms(neighbors: Neighbors, trees: Sequence[Tree]) -> Tensor:
    """Hom(T, v): for a root with children c, Hom(T, v) = Π_c Σ_{u adjacent to v} Hom(c, u).

    Args:
        neighbors: The graphs.
        trees: Rooted trees; what hangs below is counted once for all of them, and kept meanwhile.

    Returns:
        ``[N, len(trees)]`` float64, exact up to 2^53; it lies in memory tree by tree.
    """
    shape = (len(trees), neighbors.num_nodes)
    result = torch.ones(shape, dtype=torch.float64, device=neighbors.source.device)
    sums: dict[Tree, Tensor] = {}  # over the neighbours of a node, of what hangs below it

    def multiply(product: Tensor, tree: Tree) -> Tensor:
        for child in tree:
            if child not in sums:
                sums[child] = neighbors.sum(multiply(torch.ones_like(product), child))
            product *= sums[child]
        return product

    for row, tree in zip(result, trees, strict=True):
        multiply(row, tree)
    return result.mT


def closed_walks(adjacency: Tensor, longest: int) -> Tensor:
    """Closed walks of length 1, ..., ``longest`` from each node: the diagonals of A^k.

    Those of length k ≥ 3 are the homomorphisms of the cycle with k nodes, rooted at one of them.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric, zeros and ones.
        longest: At least 1.

    Returns:
        ``[b, n, longest]`` float64, exact up to 2^53.
    """
    b, n, _ = adjacency.shape
    result = adjacency.new_empty(b, n, longest)
    at_a_time = graphs_at_a_time(adjacency)
    for part, out in zip(adjacency.split(at_a_time), result.split(at_a_time), strict=True):
        out.copy_(diagonals_of_symmetric_powers(part, longest).permute(1, 2, 0))
    return result


def sparse_closed_walks(
    adjacency: scipy.sparse.csr_array, longest: int, *, memory_budget: int = 64 * 2**20
) -> np.ndarray:
    """`closed_walks` of one large graph, by blocks of nodes.

    The walks from a block of nodes are followed for half their length only, because
    diag(A^{a+b})_v = (e_v A^a)(e_v A^b).

    Args:
        adjacency: ``[n, n]``, symmetric, zeros and ones.
        longest: At least 1.
        memory_budget: Bytes for the walks of a block, were they to reach all nodes.

    Returns:
        ``[n, longest]`` float64, exact up to 2^53.
    """
    n = adjacency.shape[0]
    result = np.zeros((n, longest))
    # Two steps of a block, at 12 bytes for an entry, and the product under way.
    width = max(1, memory_budget // (3 * 12 * max(1, n)))
    identity = scipy.sparse.eye_array(n, format="csr")
    for first in range(0, n, width):
        nodes = slice(first, first + width)
        walks = identity[nodes]
        for half in range(0, longest, 2):
            longer = walks @ adjacency
            result[nodes, half] = longer.multiply(walks).sum(1)
            if half + 1 < longest:
                result[nodes, half + 1] = longer.multiply(longer).sum(1)
            walks = longer
    return result
