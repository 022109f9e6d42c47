"""Effective resistances of the edges of one large sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from graphpe.linalg.large.components import Components
from graphpe.linalg.large.laplacian_solvers import is_cheap_to_factor
from graphpe.linalg.large.sparse_elimination import resistances_by_elimination
from graphpe.linalg.spectra.resistance import effective_resistances

_DENSE_NODES = 200  # components with at most so many nodes are done as dense stacks
_STACK_ENTRIES = 2**20
# The fill that is_cheap_to_factor bounds; a good order of the nodes has several times less.
_PESSIMISM = 4
_DENSE_COPIES = 4  # matrices of its size that a dense component needs


def edge_resistances(
    adjacency: sp.csr_array,
    source: np.ndarray,
    target: np.ndarray,
    *,
    memory_budget: int,
    name: str = "the graph",
) -> np.ndarray:
    """The effective resistance between the ends of each edge, exact.

    Small components are done as dense stacks. The nodes of a large one are eliminated one by one, which is fast for
    trees, roads, grids and the like, where few edges fill in; if it is not and the component is still small enough
    for the budget, it is done densely.

    Args:
        adjacency: ``[n, n]``, symmetric, non-negative, without explicit zeros; self-loops play no part.
        source: ``[e]`` first end of each edge.
        target: ``[e]`` second end.
        memory_budget: Bytes that the work space may take.
        name: What error messages call the graph.

    Returns:
        ``[e]`` float64; infinite where the ends are in different components.

    Raises:
        ValueError: If a component is too large for the budget and its edges fill in too much.
    """
    edges = adjacency.tocoo()
    kept = edges.row != edges.col
    simple = sp.csr_array(
        (edges.data[kept], (edges.row[kept], edges.col[kept])), shape=adjacency.shape
    )
    components = Components(simple, "weak")
    position = np.empty(len(components.nodes), dtype=np.int64)
    position[components.nodes] = np.arange(len(position))
    owner = np.repeat(np.arange(len(components.sizes)), components.sizes)

    # each pair of ends once
    low, high = np.sort(position[np.stack([source, target])], axis=0)
    pairs, place_of_edge = np.unique(low * len(position) + high, return_inverse=True)
    low, high = np.divmod(pairs, len(position))
    resistance = np.full(len(pairs), np.inf)
    resistance[low == high] = 0.0
    inside = np.flatnonzero((owner[low] == owner[high]) & (low != high))

    def pairs_of(place: slice) -> np.ndarray:
        """The pairs of the components at a place; ``low`` ascends, and so do components."""
        first, last = np.searchsorted(low[inside], [place.start, place.stop])
        return inside[first:last]

    for place, matrix in components.larger_than(_DENSE_NODES):
        own = pairs_of(place)
        ends = low[own] - place.start, high[own] - place.start
        if is_cheap_to_factor(matrix, _PESSIMISM * memory_budget):
            resistance[own] = resistances_by_elimination(matrix, *ends)
        elif 8 * _DENSE_COPIES * matrix.shape[0] ** 2 <= memory_budget:
            dense = torch.from_numpy(matrix.toarray())[None]
            resistance[own] = effective_resistances(dense)[0].numpy()[ends]
        else:
            raise ValueError(
                f"{name}: the resistances of its edges need a factor of a component of {matrix.shape[0]:,} nodes, "
                "which would be too dense; take AddRandomWalkPE(16, samples=64) instead, or give graphpe.encode a "
                f"memory_budget of {8 * _DENSE_COPIES * matrix.shape[0] ** 2 / 2**30:,.1f} GiB for the dense form, "
                "whose time goes with the cube of the nodes"
            )
    for place, stack in components.stacks(_DENSE_NODES, _STACK_ENTRIES):
        own = pairs_of(place)
        size = stack.shape[1]
        values = effective_resistances(torch.from_numpy(stack)).numpy()
        component, first = np.divmod(low[own] - place.start, size)
        resistance[own] = values[component, first, (high[own] - place.start) % size]
    return resistance[place_of_edge.reshape(-1)]
