"""Random walks along and against the edges of directed graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer, require_probability
from graphpe.fields import Field
from graphpe.linalg.large import directed_walks as sparse
from graphpe.linalg.walks.directed_walks import arrivals
from graphpe.linalg.walks.relative_walks import walk_probabilities
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.walks.direction import sparse_walk_adjacency, walk_adjacency
from graphpe.transforms.walks.pagerank import pagerank


@dataclass(frozen=True, repr=False)
class AddDirectedRandomWalkPE(Encoding):
    r"""Adds the probabilities of random walks of 1, 2, ..., K steps along the edges, and against them.

    .. math:: T = D_{\text{out}}^{-1} A, \qquad T' = D_{\text{in}}^{-1} A^T

    :math:`(T^k)_{uv}` is the probability that a walk from u along the edges is at v after k steps,
    :math:`(T'^k)_{uv}` the same for walks against the edges, in the reversed graph. A walk stays where no edge leads
    on: a sink has :math:`T_{uu} = 1`, a source :math:`T'_{uu} = 1`, so that all rows sum to 1. ``edge_weight`` is
    used if it is there; parallel edges add up; self-loops are kept.

    With ``restart`` there is personalised PageRank as well, :math:`\Pi = p \left(I - (1-p) T\right)^{-1}` and
    :math:`\Pi'` in the same way from :math:`T'`. The published preset is ``walk_length=3, restart=0.05``: 8 channels.

    Writes:
        ``attr_name``: 2 K channels, or 2 (K + 1) with ``restart``: those of :math:`T, T^2, \ldots, T^K` (and
        :math:`\Pi`), then those of :math:`T', T'^2, \ldots, T'^K` (and :math:`\Pi'`).

        - ``level="pair"``: ``[n * n, channels]``, the entry (u, v) of the matrix,
        - ``level="node"``, ``node_values="arrivals"``: ``[n, channels]``, the sums over the sources
          :math:`\sum_u (T^k)_{uv}`: how many walks are at v if one starts at each node,
        - ``level="node"``, ``node_values="returns"``: ``[n, channels]``, the diagonal :math:`(T^k)_{vv}`. In a DAG it
          is 1 at sinks (backwards, at sources) and 0 elsewhere.

    Args:
        walk_length: Largest number of steps K; Geisler et al. take 3.
        attr_name: Name of the field; None concatenates it to ``x`` (node level only).
        level: ``"node"`` or ``"pair"``.
        node_values: What a node gets from the matrices, ``"arrivals"`` (Geisler et al.) or ``"returns"``. Of no
            effect on pairs.
        restart: Probability p of PageRank, 0 < p <= 1; None leaves it out.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done by products with the sparse matrix, but for pairs, and for returns
            together with ``restart``, which have only a dense form.

    Raises:
        ValueError: For invalid weights or node numbers, or, where there is only a dense form, a graph too large for
            the memory budget; the message names the graph.

    References:
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    walk_length: int
    attr_name: str | None = "directed_random_walk_pe"
    level: Literal["node", "pair"] = "node"
    node_values: Literal["arrivals", "returns"] = "arrivals"
    restart: float | None = None

    cost: ClassVar[str] = "O(n² K) per graph, pairs O(n³ K); sparse: O(e K), returns O(n e K)"
    paper: ClassVar[str] = "Geisler et al. 2023"
    sparse_alternative: ClassVar[str] = "take level='node' with node_values='arrivals' instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("walk_length", self.walk_length)
        require_choice("level", self.level, ("node", "pair"))
        require_choice("node_values", self.node_values, ("arrivals", "returns"))
        if self.restart is not None:
            require_probability("restart", self.restart)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        width = 2 * (self.walk_length + (self.restart is not None))
        return (Field(self.field_name, self.level, width, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        channels = []
        for direction in ("forward", "backward"):
            channels.append(self._walks(block, direction))
            if self.restart is not None:
                ranks = block.shared(pagerank, self.restart, None, direction, "loop")
                channels.append(self._of_nodes(ranks)[..., None].to(channels[-1].dtype))
        return (torch.cat(channels, dim=-1),)

    def _walks(self, block: Block, direction: str) -> Tensor:
        """``[b, n, K]`` or ``[b, n, n, K]``."""
        adjacency = walk_adjacency(block, direction, "loop")
        if self.level == "pair":
            powers = walk_probabilities(adjacency, self.walk_length + 1, self.torch_dtype)
            return powers[..., 1:]
        if self.node_values == "returns":
            return linalg.return_probabilities(adjacency, self.walk_length, self.torch_dtype)
        return arrivals(adjacency, self.walk_length)

    def _of_nodes(self, matrix: Tensor) -> Tensor:
        """What the level takes of ``[b, n, n]``."""
        if self.level == "pair":
            return matrix
        if self.node_values == "returns":
            return matrix.diagonal(dim1=-2, dim2=-1)
        return matrix.mT.contiguous().sum(-1)

    @property
    def has_sparse_form(self) -> bool:
        # the diagonal of a closed form has no sparse one
        needs_inverse = self.node_values == "returns" and self.restart is not None
        return self.level == "node" and not needs_inverse

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        channels = []
        for direction in ("forward", "backward"):
            adjacency = sparse_walk_adjacency(graph, direction, "loop")
            channels.append(
                linalg.sparse_return_probabilities(
                    adjacency, self.walk_length, memory_budget=graph.memory_budget
                )
                if self.node_values == "returns"
                else sparse.arrivals(adjacency, self.walk_length, self.restart)
            )
        return (torch.from_numpy(np.concatenate(channels, axis=-1))[None],)

    def workspace(self, n: int) -> int:
        # PageRank of both directions, and what it is made of; powers of one direction
        pagerank_size = 0 if self.restart is None else 5 * n * n
        powers = (self.walk_length + 1) * (n * n if self.level == "pair" else n)
        return super().workspace(n) + pagerank_size + powers
