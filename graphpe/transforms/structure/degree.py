"""Degrees as categories."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer
from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.transforms.core.base import Encoding

Directions = Literal["in_out", "undirected"]


@dataclass(frozen=True, repr=False)
class AddDegreeSE(Encoding):
    r"""Adds the in- and out-degree of each node as categories 0, 1, ..., ``max_degree``.

    .. math:: d^-_i = \#\{j \ne i : j \to i\}, \qquad d^+_i = \#\{j \ne i : i \to j\}

    Neighbours are counted, not edges: parallel edges count once, self-loops and edges of weight 0 not at all, and
    weights are not used. (Graphormer counts a self-loop as one neighbour.) 0 is a category like any other, and so is
    ``max_degree``: an embedding table has ``max_degree + 1`` rows. Higher degrees share the category ``max_degree``,
    and a warning says how many there are.

    Writes:
        ``attr_name``: ``[n, 2]`` in- and out-degree, int64; ``[n, 1]`` with ``directions="undirected"`` (node level).

    Args:
        max_degree: The largest degree with a category of its own; `for_dataset` finds that of a training set.
        attr_name: Name of the field; None concatenates it to ``x``.
        directions: ``"in_out"``: two columns, equal for an undirected graph. ``"undirected"``: one column with the
            number of nodes joined by an edge in either direction.
        dtype: Not used: the field is int64.
        dense_limit: Graphs with more nodes are done in sparse form.

    Raises:
        ValueError: For invalid weights or node numbers; the message names the graph.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?" (Graphormer),
        https://arxiv.org/abs/2106.05234.
    """

    max_degree: int
    attr_name: str | None = "degree_se"
    directions: Directions = "in_out"

    cost: ClassVar[str] = "O(n²) per graph; sparse: O(e)"
    paper: ClassVar[str] = "Ying et al. 2021"

    @classmethod
    def for_dataset(
        cls, dataset: Any, *, directions: Directions = "in_out", **settings: Any
    ) -> AddDegreeSE:
        """The encoding with the largest degree of a dataset, a training set say.

        Args:
            dataset: A dataset, ``Batch``, list of ``Data`` or single ``Data``.
            directions: As for the encoding.
            settings: Others of its settings.
        """
        graphs = GraphBatch.of(dataset)
        return cls(max(1, _largest_degree(graphs, directions)), directions=directions, **settings)

    def __post_init__(self) -> None:
        require_positive_integer("max_degree", self.max_degree)
        require_choice("directions", self.directions, get_args(Directions))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(
                self.field_name,
                "node",
                2 if self.directions == "in_out" else 1,
                torch.int64,
                categories=operator.index(self.max_degree) + 1,
            ),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        joined = block.adjacency > 0
        joined.diagonal(dim1=-2, dim2=-1).zero_()
        if self.directions == "undirected":
            degree = (joined | joined.mT).sum(-1)[..., None]
        else:
            degree = torch.stack([joined.sum(-2), joined.sum(-1)], dim=-1)
        return (self._capped(degree, block.graphs, block.numbers),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        edges = graph.adjacency.tocoo()
        kept = edges.row != edges.col
        joined = scipy.sparse.csr_array(
            (np.ones(int(kept.sum()), dtype=bool), (edges.row[kept], edges.col[kept])), edges.shape
        )
        if self.directions == "undirected":
            degrees = [np.diff((joined + joined.T).tocsr().indptr)]
        else:
            incoming = np.bincount(joined.indices, minlength=graph.n)
            degrees = [incoming, np.diff(joined.indptr)]
        degree = torch.stack([torch.as_tensor(column).long() for column in degrees], dim=-1)
        return (self._capped(degree[None], graph.graphs, torch.tensor([graph.number])),)

    def _capped(self, degree: Tensor, graphs: GraphBatch, numbers: Tensor) -> Tensor:
        """Degrees ``[b, n, d]`` with those above the largest category put into it, and a warning about them."""
        above = (degree > self.max_degree).any(dim=-1)
        if bool(above.any()):
            largest = int(degree.max())
            warnings.warn(
                f"AddDegreeSE: {int(above.sum())} nodes (the first in "
                f"{graphs.name(numbers[above.any(dim=1).cpu()][0])}) have degrees up to {largest}, above max_degree="
                f"{self.max_degree}, and share its category; set max_degree={largest}, or use "
                "AddDegreeSE.for_dataset(dataset)",
                UserWarning,
                stacklevel=2,
            )
        return degree.clamp(max=self.max_degree)


def _largest_degree(graphs: GraphBatch, directions: Directions) -> int:
    """The largest number of neighbours of a node of any graph."""
    slot, column = graphs.edges_of(torch.arange(len(graphs)))
    source, target = graphs.edge_index[:, column].long() + graphs.ptr.to(graphs.device)[slot]
    joined = source != target
    if graphs.edge_weight is not None:
        joined &= graphs.edge_weight[column] > 0
    source, target = source[joined], target[joined]
    if directions == "undirected":
        source, target = torch.cat([source, target]), torch.cat([target, source])
    edges = torch.stack([source, target]).unique(dim=1)
    if edges.numel() == 0:
        return 0
    return max(int(torch.bincount(end).max()) for end in edges)
