"""Counts of simple cycles."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.structure.cycle_quotients import (
    LONGEST,
    count_cycles_densely,
    steps_of_dense_count,
    workspace_of_dense_count,
)
from graphpe.linalg.structure.cycles import MOST_PATHS_OF_A_ROOT, count_cycles
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.simple_graph import (
    by_graph,
    simple_adjacency,
    simple_neighbors,
)


@dataclass(frozen=True, repr=False)
class AddCycleCountSE(UndirectedEncoding):
    r"""Adds the number of simple cycles of each length through each node.

    .. math:: c_{i\ell} = \#\{ C \subseteq G : C \text{ a cycle with } \ell \text{ edges},\ i \in C \}

    The numbers are exact (as stored: float32 is exact up to 2²⁴). Cycles are found by joining paths of half their
    length, which is fast for molecules and sparse graphs; a dense graph, which has very many cycles, changes to
    matrix products (inclusion and exclusion over what a cycle can be mapped to), whose cost does not depend on their
    number. Where neither is affordable, an error says so. Self-loops, parallel edges and weights do not count.

    Writes:
        ``attr_name``: ``[n, len(lengths)]`` numbers of cycles (node level).

    Args:
        lengths: Numbers of edges, from 3 to 8, one column for each.
        attr_name: Name of the field; None concatenates it to ``x``.
        max_steps: What a graph may cost: the number of paths listed and compared, at about 50 ns each, so that the
            default is a minute or so.
        logarithm: Write log(1 + count), which networks learn from more easily than from numbers of many magnitudes.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done in sparse form, without the matrix products.

    Raises:
        ValueError: If a graph has more cycles than can be counted within ``max_steps``; for invalid weights or node
            numbers, or a directed graph with ``directed="error"``. The message names the graph.

    References:
        Bouritsas et al., "Improving Graph Neural Network Expressivity via Subgraph Isomorphism Counting",
        https://arxiv.org/abs/2006.09252.
    """

    lengths: tuple[int, ...] = (3, 4, 5, 6, 7, 8)
    attr_name: str | None = "cycle_count_se"
    max_steps: int = 10**9
    logarithm: bool = False

    cost: ClassVar[str] = "pairs of paths of half the length, or O(n³) (length 8: O(n⁴)) per graph"
    paper: ClassVar[str] = "Bouritsas et al. 2020"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", checked_lengths("lengths", self.lengths))
        if not self.lengths:
            raise ValueError("lengths is empty; give at least one length, (3, 4, 5, 6) say")
        require_positive_integer("max_steps", self.max_steps)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", len(self.lengths), self.torch_dtype),)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + workspace_of_dense_count(n)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        dense_steps = steps_of_dense_count(block.n, self.lengths)
        device = block.adjacency.device
        limit = torch.full(
            (len(block),), min(dense_steps, self.max_steps), dtype=torch.float64, device=device
        )
        graph = torch.arange(len(block), device=device).repeat_interleave(block.n)
        counts, steps = count_cycles(simple_neighbors(block), self.lengths, graph, limit)
        counts = by_graph(counts, block).double()
        given_up = steps > limit
        if bool(given_up.any()):
            if dense_steps > self.max_steps:
                name = block.graphs.name(block.numbers[given_up.cpu()][0])
                self._refuse(name, float(steps[given_up][0]))
            dense, exact = count_cycles_densely(simple_adjacency(block)[given_up], self.lengths)
            if not bool(exact.all()):
                name = block.graphs.name(block.numbers[given_up.cpu()][~exact.cpu()][0])
                raise ValueError(
                    f"AddCycleCountSE: {name} has too many cycles of length {max(self.lengths)} to count them "
                    "exactly in float64 (2^53); leave out the longest lengths"
                )
            counts[given_up] = dense
        return (self._scaled(counts),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        counts, steps = count_cycles(
            simple_neighbors(graph),
            self.lengths,
            torch.zeros(graph.n, dtype=torch.int64),
            torch.tensor([float(self.max_steps)], dtype=torch.float64),
        )
        if float(steps) > self.max_steps:
            self._refuse(graph.name, float(steps))
        return (self._scaled(by_graph(counts, graph)),)

    def _scaled(self, counts: Tensor) -> Tensor:
        return counts.double().log1p() if self.logarithm else counts

    def _refuse(self, name: str, steps: float) -> None:
        longest = max(self.lengths)
        if math.isinf(steps):
            raise ValueError(
                f"AddCycleCountSE: a node of {name} begins more than {MOST_PATHS_OF_A_ROOT:,} paths of up "
                f"to {(longest + 1) // 2} edges, too many for its cycles of length {longest}; leave out the longest"
            )
        raise ValueError(
            f"AddCycleCountSE: {name} has too many paths to count its cycles of length {longest} within "
            f"max_steps={self.max_steps:,}; leave out the longest lengths, or raise max_steps"
        )


def checked_lengths(name: str, lengths: object) -> tuple[int, ...]:
    """Lengths of cycles as a tuple; a ValueError unless they are different integers from 3 to 8."""
    try:
        found = tuple(operator.index(length) for length in lengths)
    except TypeError:
        found = (0,)
    if len(set(found)) < len(found) or not all(3 <= length <= LONGEST for length in found):
        raise ValueError(
            f"{name} is {lengths!r}; it must be different integers from 3 to {LONGEST}, (3, 4, 5, 6) say"
        )
    return found
