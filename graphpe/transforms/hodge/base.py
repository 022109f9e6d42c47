"""What the encodings from the Hodge Laplacian share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_positive_integer
from graphpe.transforms.core.undirected import UndirectedEncoding

# Matrices of e x e entries that exist at a time for each graph.
_MATRICES = 6

# Entries of such a matrix for all graphs that are handled at a time: they stay in the cache of a CPU.
_CACHED_ENTRIES = 2**16

# A graph of n nodes is expected to have at most so many times n edges.
_EXPECTED_DENSITY = 4


class SimpleGraphs(NamedTuple):
    """The simple undirected graphs of a block, with the edges u < v one graph after the other.

    Args:
        adjacency: ``[b, n, n]`` float64 of 0 and 1.
        slot: ``[m]`` which graph of the block an edge belongs to.
        source: ``[m]`` u.
        target: ``[m]`` v.
        num_edges: ``[b]``.
        num_components: ``[b]``.
    """

    adjacency: Tensor
    slot: Tensor
    source: Tensor
    target: Tensor
    num_edges: Tensor
    num_components: Tensor

    def groups(self, chosen: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Some graphs, those with the same number e of edges together, a few at a time.

        Args:
            chosen: ``[b]`` bool which graphs; they must have edges.

        Yields:
            ``[g]`` which graphs of the block, and ``[g, e]`` which of the edges.
        """
        start = self.num_edges.cumsum(0) - self.num_edges
        for e in self.num_edges[chosen].unique().tolist():
            slots = (chosen & (self.num_edges == e)).nonzero().squeeze(1)
            for part in slots.split(max(1, _CACHED_ENTRIES // e**2)):
                yield part, start[part][:, None] + torch.arange(e, device=part.device)


def simple_graphs(block: Block) -> SimpleGraphs:
    """The graphs of a block without directions, self-loops, parallel edges and edges of weight 0."""
    is_joined = block.undirected_adjacency > 0
    is_joined.diagonal(dim1=-2, dim2=-1).fill_(False)
    slot, source, target = is_joined.triu(1).nonzero(as_tuple=True)
    labels = torch.nn.functional.pad(block.component_labels, (0, 1), value=-1)
    return SimpleGraphs(
        adjacency=is_joined.double(),
        slot=slot,
        source=source,
        target=target,
        num_edges=torch.bincount(slot, minlength=len(block)),
        num_components=labels.amax(dim=1) + 1,
    )


@dataclass(frozen=True, repr=False)
class HodgeEncoding(UndirectedEncoding):
    """An encoding that decomposes the 1-Hodge Laplacian, an e x e matrix for e edges.

    Args:
        edge_limit: Graphs with more edges are refused: the matrices would be too large. (Graphs with more than 4n
            edges are done one by one, and may take 48 bytes times the square of this beyond a memory budget.)
        directed: What to do with a directed graph: ``"symmetrize"`` or ``"error"``.
        dtype: Stored dtype of floating-point fields, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.
    """

    edge_limit: int = dataclasses.field(default=2000, kw_only=True)

    sparse_alternative: ClassVar[str] = "take AddClusteringCoefficientSE instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("edge_limit", self.edge_limit)
        super().__post_init__()

    def check(self, part: Block) -> None:  # there is no sparse form
        super().check(part)
        num_edges = part.shared(simple_graphs).num_edges
        is_over = num_edges > self.edge_limit
        if bool(is_over.any()):
            name = part.graphs.name(part.numbers[is_over.cpu()][0])
            edges = int(num_edges[is_over][0])
            needed = _MATRICES * 8 * edges**2
            raise ValueError(
                f"{name} has {edges:,} edges, over the edge_limit of {self.edge_limit:,}, and "
                f"{type(self).__name__} would take {needed / 2**30:,.2f} GiB for it; {self.sparse_alternative}raise "
                "edge_limit to do it anyway"
            )

    def workspace(self, n: int) -> int:
        edges = min(n * (n - 1) // 2, _EXPECTED_DENSITY * n, self.edge_limit)
        results = 4 * edges * sum(field.width for field in self.fields() if field.level == "edge")
        return super().workspace(n) + results + _MATRICES * edges**2
