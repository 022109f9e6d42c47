"""Which way walks go, and what they do where no edge leads on."""

from __future__ import annotations

from typing import Literal

import scipy.sparse as sp
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.linalg.large import directed_walks as sparse
from graphpe.linalg.walks.directed_walks import with_loops_at_sinks

Direction = Literal["forward", "backward", "both"]
Sinks = Literal["lose", "loop"]


def directions(direction: Direction) -> tuple[str, ...]:
    """One direction, or forward and backward."""
    return ("forward", "backward") if direction == "both" else (direction,)


def walk_adjacency(block: Block, direction: str, sinks: Sinks) -> Tensor:
    """``[b, n, n]`` the adjacency that walks follow from row to column: backward, that of the reversed graph.

    With ``"loop"`` there is a self-loop wherever no edge leads on.
    """
    adjacency = block.adjacency if direction == "forward" else block.adjacency.mT.contiguous()
    return with_loops_at_sinks(adjacency) if sinks == "loop" else adjacency


def sparse_walk_adjacency(graph: LargeGraph, direction: str, sinks: Sinks) -> sp.csr_array:
    """The same for a large graph, ``[n, n]``."""
    adjacency = graph.adjacency if direction == "forward" else graph.adjacency.T.tocsr()
    return sparse.with_loops_at_sinks(adjacency) if sinks == "loop" else adjacency
