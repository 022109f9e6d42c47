"""What the encodings of all pairs of nodes become: those of nodes, of edges, or the pairs themselves."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from graphpe.nn.layout import GraphLayout, NodePairs
from graphpe.nn.sums import sum_by_group

PairLevel = Literal["node", "pair", "edge"]


def from_pairs(
    encoded: Tensor,
    level: PairLevel,
    layout: GraphLayout,
    pairs: NodePairs,
    edge_index: Tensor | None,
) -> Tensor:
    """Brings encodings of all pairs (i, j) to a level.

    Args:
        encoded: ``[P, c]``.
        level: ``"node"`` sums over j, ``"edge"`` takes the pairs that are edges, ``"pair"`` takes all.
        layout: Where the graphs lie.
        pairs: The pairs.
        edge_index: ``[2, E]`` edges inside graphs, for ``"edge"``.

    Returns:
        ``[N, c]``, ``[E, c]`` in the order of the edges, or ``[P, c]``.
    """
    if level == "node":
        return sum_by_group(encoded, pairs.source, layout.num_nodes)
    if level == "edge":
        source, target = edge_index
        return encoded[pairs.start[source] + target - layout.ptr[layout.batch[source]]]
    return encoded
