"""Probabilities of random walks between all pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.walks.relative_walks import walk_probabilities
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddRelativeRandomWalkPE(Encoding):
    r"""Adds the probabilities that a random walk from one node is at another after 0, 1, ..., K − 1 steps (RRWP).

    .. math:: p_{ij} = \left(I_{ij}, P_{ij}, (P^2)_{ij}, \ldots, (P^{K-1})_{ij}\right), \qquad P = D^{-1} A

    The first channel is the identity. A walk goes from the first node of the pair to the second. It follows directed
    edges and ends at a node without outgoing ones: an isolated node has zeros, but for the identity. ``edge_weight``
    is used if it is there (the probabilities of the steps from a node sum to one, so a common factor changes
    nothing); parallel edges add up; self-loops are kept.

    Also known as RRWP.

    Writes:
        ``attr_name``: ``[n * n, walk_length]`` probabilities (pair level).

    Args:
        walk_length: Number of channels K; the longest walk has K − 1 steps. GRIT takes 21 for ZINC.
        attr_name: Name of the field.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``; walks are computed in it.
        dense_limit: Of no effect: probabilities of all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Ma et al., "Graph Inductive Biases in Transformers without Message Passing", https://arxiv.org/abs/2305.17589.
    """

    walk_length: int
    attr_name: str | None = "relative_random_walk_pe"

    cost: ClassVar[str] = "O(n³ K) per graph"
    paper: ClassVar[str] = "Ma et al. 2023"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("walk_length", self.walk_length)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", self.walk_length, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (walk_probabilities(block.adjacency, self.walk_length, self.torch_dtype),)
