"""Encodings from random walks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddRandomWalkPE(Encoding):
    r"""Adds the probabilities that a random walk is back at its start after 1, 2, ..., K steps.

    .. math:: p_i = (P_{ii}, (P^2)_{ii}, \ldots, (P^K)_{ii}), \qquad P = D^{-1} A

    A drop-in for ``torch_geometric.transforms.AddRandomWalkPE`` that is also right for edge weights (the
    probabilities of the steps from a node sum to one), parallel edges (they add up) and batches. Self-loops are
    kept. A walk follows directed edges and ends at a node without outgoing ones; an isolated node has zeros.

    Writes:
        ``attr_name``: ``[n, walk_length]`` return probabilities (node level).

    Args:
        walk_length: Number of steps K.
        attr_name: Name of the field; None concatenates it to ``x``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``; dense walks are computed in it.
        dense_limit: Graphs with more nodes are done by blocks of columns of the sparse matrix.

    Raises:
        ValueError: For invalid weights or node numbers; the message names the graph.

    References:
        Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional Representations",
        https://arxiv.org/abs/2110.07875.
    """

    walk_length: int
    attr_name: str | None = "random_walk_pe"

    cost: ClassVar[str] = "O(n³ K) per graph; sparse: O(n e K)"
    paper: ClassVar[str] = "Dwivedi et al. 2022"

    def __post_init__(self) -> None:
        require_positive_integer("walk_length", self.walk_length)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(
                "random_walk_pe" if self.attr_name is None else self.attr_name,
                "node",
                self.walk_length,
                self.torch_dtype,
            ),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        probabilities = linalg.return_probabilities(
            block.adjacency, self.walk_length, self.torch_dtype
        )
        no_returns = ~probabilities.flatten(1).any(dim=1)
        if bool(no_returns.any()) and bool(block.adjacency[no_returns].any()):
            _warn_no_return()
        return (probabilities,)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        probabilities = linalg.sparse_return_probabilities(
            graph.adjacency, self.walk_length, memory_budget=graph.memory_budget
        )
        if graph.adjacency.nnz and not probabilities.any():
            _warn_no_return()
        return (torch.from_numpy(probabilities)[None],)


def _warn_no_return() -> None:
    """Say that an acyclic graph has an encoding of zeros, which is right but carries nothing."""
    warnings.warn(
        "AddRandomWalkPE: some directed graphs have no walk back to any node, so their encoding is zero; "
        "apply ToUndirected() first if directions do not matter",
        UserWarning,
        stacklevel=2,
    )
