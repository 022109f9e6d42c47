"""Numbers of walks with so many edges forwards and the rest backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.walks.walk_profiles import profile_width, walk_profiles
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddWalkProfilePE(Encoding):
    r"""Adds the number of walks from each node to each other by their numbers of forward and backward steps.

    .. math:: \Phi(0, 0) = I, \qquad \Phi(\ell + 1, k) = A \, \Phi(\ell, k - 1) + A^T \, \Phi(\ell, k)

    :math:`\Phi_{uv}(\ell, k)` is the number of walks of :math:`\ell` steps from u to v of which exactly k go along an
    edge and :math:`\ell - k` against one: :math:`\Phi(\ell, \ell) = A^\ell`, and
    :math:`\Phi_{uv}(\ell, k) = \Phi_{vu}(\ell, \ell - k)`. The powers of the magnetic adjacency are its Fourier
    series: :math:`(e^{i 2\pi q} A + e^{-i 2\pi q} A^T)^\ell = \sum_k \Phi(\ell, k) \, e^{i 2\pi q (2k - \ell)}`.

    Walks along parallel edges are different ones. A self-loop can be taken along it and against it. With
    ``edge_weight`` a walk counts as the product of the weights of its steps.

    Writes:
        ``attr_name``: ``[n * n, L (L + 3) / 2]`` numbers (pair level): :math:`(\ell, k)` = (1, 0), (1, 1), (2, 0),
        (2, 1), (2, 2), (3, 0), ..., (L, L), so that the last L + 1 columns are the walks of L steps. They are computed
        in float64 and exact up to 2^53, if stored as ``"float32"`` up to 2^24.

    Args:
        length: Largest number of steps L; the published tasks have 4.
        attr_name: Name of the field.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect: numbers for all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Huang et al., "What Are Good Positional Encodings for Directed Graphs?", https://arxiv.org/abs/2407.20912.
    """

    length: int
    attr_name: str | None = "walk_profile_pe"

    cost: ClassVar[str] = "O(n³ L²) per graph"
    paper: ClassVar[str] = "Huang et al. 2025"
    sparse_alternative: ClassVar[str] = "take AddDirectedRandomWalkPE instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("length", self.length)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", profile_width(self.length), self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (walk_profiles(block.adjacency, self.length, self.torch_dtype),)

    def workspace(self, n: int) -> int:
        # all numbers in float64, and the products of the last step
        return super().workspace(n) + (profile_width(self.length) + 2 * self.length) * n * n
