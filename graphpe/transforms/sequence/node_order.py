"""Positions of nodes in an order, as the words of a sentence have them."""

from __future__ import annotations

import warnings
from typing import Literal, get_args

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice
from graphpe.linalg.distances.topological_order import Condensation
from graphpe.linalg.draws.random_subsets import random_arrangements
from graphpe.transforms.core.seeds import graph_keys

NodeOrder = Literal["given", "topological"]

# The longest range of random positions: draws have 53 bits.
LARGEST_MAXIMUM = 2**53


def require_node_order(name: str, value: object) -> None:
    """Raises a ValueError unless ``value`` is ``"given"`` or ``"topological"``."""
    require_choice(name, value, get_args(NodeOrder))


def condensation(part: Block | LargeGraph) -> Condensation:
    """The condensation of the graphs of a block, or of a large graph: node v of graph i is node ``i * n + v``."""
    if isinstance(part, LargeGraph):
        return Condensation(*part.adjacency.nonzero(), part.n)
    slot, source, target = part.adjacency.nonzero(as_tuple=True)
    start = slot * part.n
    return Condensation(
        (start + source).cpu().numpy(), (start + target).cpu().numpy(), len(part) * part.n
    )


def node_positions(part: Block | LargeGraph, order: NodeOrder) -> Tensor:
    """The positions of the nodes in an order of the nodes of each graph.

    Args:
        part: Graphs of n nodes.
        order: ``"given"``: the node number. ``"topological"``: the topological generation; the nodes of a generation
            share a position.

    Returns:
        ``[b, n]`` int64, from 0; in each graph all positions up to the largest occur.
    """
    numbers = _numbers(part)
    if order == "given":
        return torch.arange(part.n, device=part.graphs.device).expand(len(numbers), -1)
    positions = torch.from_numpy(condensation(part).generations()).view(len(numbers), part.n)
    positions = positions.to(part.graphs.device)
    if part.n > 1 and not bool(positions.any(dim=1).all()):
        _warn_no_order()
    return positions


def random_positions(part: Block | LargeGraph, order: NodeOrder, maximum: int, seed: int) -> Tensor:
    """Positions replaced by a random subset of 0 to ``maximum`` - 1, in the same order.

    Args:
        part: Graphs of n nodes.
        order: The order of the nodes.
        maximum: Length N of the range.
        seed: Of `graph_keys`.

    Returns:
        ``[b, n]`` int64.

    Raises:
        ValueError: If a graph has more positions than the range; the message names the graph.
    """
    positions = node_positions(part, order)
    counts = positions.amax(dim=1) + 1 if part.n else positions.sum(dim=1)
    too_long = counts > maximum
    if bool(too_long.any()):
        name = part.graphs.name(_numbers(part)[too_long.cpu()][0])
        raise ValueError(
            f"{name} has {int(counts[too_long][0]):,} positions in its order, but maximum is {maximum:,}; "
            "set maximum to several times the size of the largest graph"
        )
    longest = int(counts.max()) if len(counts) else 0
    subset = random_arrangements(graph_keys(part, seed), longest, maximum)
    is_spare = torch.arange(longest, device=counts.device) >= counts[:, None]
    subset = subset.masked_fill(is_spare, maximum).sort(dim=1).values  # spare ones come last
    return subset.gather(1, positions)


def _numbers(part: Block | LargeGraph) -> Tensor:
    return part.numbers if isinstance(part, Block) else torch.tensor([part.number])


def _warn_no_order() -> None:
    """Say that the order is trivial, as it always is for an undirected connected graph."""
    warnings.warn(
        "some graphs have one topological generation only, because they are undirected or without edges, so all "
        "their nodes share a position; use order='given' for graphs whose node numbers have a meaning",
        UserWarning,
        stacklevel=2,
    )
