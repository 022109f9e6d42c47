"""Singular vectors of the adjacency matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.large.singular_vectors import largest_singular_vectors
from graphpe.linalg.spectra.eigenspaces import eigenspace_starts
from graphpe.linalg.spectra.singular_vectors import canonical_sign_pairs, singular_vectors
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddSingularVectorPE(Encoding):
    r"""Adds the first singular vectors of the adjacency matrix, of both sides, and the singular values.

    .. math:: A = U \Sigma V^T \approx \left(U_k \sqrt{\Sigma_k}\right) \left(V_k \sqrt{\Sigma_k}\right)^T

    with the k largest singular values :math:`\sigma_1 \ge \sigma_2 \ge \ldots`. The product of the two factors is the
    best approximation of :math:`A` by a matrix of rank k: the first factor describes a node as a source of edges, the
    second as a target. ``edge_weight`` is used if it is there; parallel edges add up; self-loops are kept.

    The columns j of both factors share a sign: flipping both leaves the product. Here the entry of largest modulus of
    a column of :math:`U` is positive, with the tie rules of `AddLaplacianEigenvectorPE`, and :math:`V` follows. Where
    singular values are equal, the columns of both factors are free up to one orthogonal matrix, the same for both.
    The declared symmetry, "basis", is that of each factor alone and so covers both.

    Columns of the singular value 0 are zero, like the padding, so that the number of columns that mean something is
    at most the rank of :math:`A`. Values below 1e-12 of the largest one are 0 (1e-9 in graphs over ``dense_limit``).

    Writes:
        - ``attr_name``: ``[n, 2 k]``, :math:`[U_k \sqrt{\Sigma_k}, V_k \sqrt{\Sigma_k}]` (node level).
        - ``value_name``: ``[1, k]`` singular values, descending (graph level).
        - ``count_name``: ``[1, 1]`` int64 number of these that are positive (graph level).
        - ``cut_name``: ``[1, 1]`` int64, 1 where the k-th singular value is positive and equals the next one (to 1e-6
          of it), so that the last columns are not determined by the graph (graph level).

    Args:
        k: Number of singular values.
        attr_name: Name of the vectors; None concatenates them to ``x``.
        value_name: Name of the singular values.
        count_name: Name of their number.
        cut_name: Name of the flag.
        seed: Seed of the iterative solver for graphs over ``dense_limit``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are solved by block Krylov iteration, checked for residuals and for copies
            of repeated values that it may have passed over. It does not converge where the largest values lie very
            close together, as those of long undirected paths, and says so.

    Raises:
        ValueError: For invalid weights or node numbers, or if the iterative solver does not converge; the message
            names the graph.

    References:
        Hussain, Zaki and Subramanian, "Global Self-Attention as a Replacement for Graph Convolution",
        https://arxiv.org/abs/2108.03348; Geisler et al., "Transformers Meet Directed Graphs",
        https://arxiv.org/abs/2302.00049.
    """

    k: int
    attr_name: str | None = "singular_vector_pe"
    value_name: str = "singular_value"
    count_name: str = "singular_vector_count"
    cut_name: str = "singular_space_cut"
    seed: int = 0

    cost: ClassVar[str] = "O(n³) per graph; sparse: block Krylov iteration for k triplets"
    paper: ClassVar[str] = "Hussain et al. 2022"

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        require_seed("seed", self.seed)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(self.field_name, "node", 2 * self.k, self.torch_dtype, symmetry="basis"),
            Field(self.value_name, "graph", self.k, self.torch_dtype),
            Field(self.count_name, "graph", 1, torch.int64),
            Field(self.cut_name, "graph", 1, torch.int64),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return self._select(*block.shared(_decomposition))

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        triplets = largest_singular_vectors(
            graph.adjacency, self.k + 1, seed=self.seed, name=graph.name
        )
        left, values, right = (torch.from_numpy(part)[None] for part in triplets)
        return self._select(left, values, right)

    def _select(self, left: Tensor, values: Tensor, right: Tensor) -> tuple[Tensor, ...]:
        """The fields from all triplets, or from one more than wanted."""
        chosen = values[:, : self.k]
        factors = [
            torch.nn.functional.pad(
                factor * chosen.sqrt().unsqueeze(-2), (0, self.k - chosen.shape[1])
            )
            for factor in canonical_sign_pairs(left[..., : self.k], right[..., : self.k])
        ]
        count = (chosen > 0).sum(-1, keepdim=True)
        return torch.cat(factors, dim=-1), chosen, count, _is_cut(values, self.k).long()

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 5 * n * n  # all singular vectors, and room for the solver


def _decomposition(block: Block) -> tuple[Tensor, Tensor, Tensor]:
    return singular_vectors(block.adjacency)


def _is_cut(values: Tensor, k: int) -> Tensor:
    """``[b, 1]`` bool: whether the k-th of the descending ``values [b, m]`` is positive and equals the next one."""
    if values.shape[1] <= k:
        return torch.zeros(len(values), 1, dtype=torch.bool, device=values.device)
    ascending = values[:, k - 1 : k + 1].flip(-1)
    starts = eigenspace_starts(ascending, torch.zeros_like(ascending[:, :1]), values[:, :1])
    return ~starts[:, 1:] & (ascending[:, 1:] > 0)
