"""Projectors onto the eigenspaces of the Laplacian: what a graph says about its eigenvectors, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_choice, require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.spectra.eigenspaces import eigenspace_numbers
from graphpe.linalg.spectra.spectral_kernels import spectral_kernels
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.spectral import shared


@dataclass(frozen=True, repr=False)
class AddSpectralProjectorPE(UndirectedEncoding):
    r"""Adds the projectors onto the first k eigenspaces of the Laplacian, of any multiplicity, as BasisNet reads them.

    .. math:: \Pi_\lambda = U_\lambda U_\lambda^T

    for the distinct eigenvalues :math:`\lambda` of :math:`L_{sym} = I - D^{-1/2} A D^{-1/2}` or :math:`D - A`, in
    ascending order and the eigenvalue 0 among them, where the columns of :math:`U_\lambda` are its orthonormal
    eigenvectors. Unlike these the projectors have no free sign or basis. Neighbouring eigenvalues count as equal if
    they differ by at most 1e-6 of the larger one or 1e-12 of the largest; the eigenvalue 0 has as many eigenvectors
    as there are connected components. Self-loops are removed; ``edge_weight`` is used if it is there.

    Writes:
        - ``attr_name``: ``[n * n, k]``, row-major; zero for eigenspaces that a graph does not have (pair level).
        - ``eigenvalue_name``: ``[1, k]`` distinct eigenvalues, zero for those that a graph does not have (graph level).
        - ``multiplicity_name``: ``[1, k]`` int64 dimension of each eigenspace, 0 for those that a graph does not have
          (graph level).

    Args:
        k: Number of eigenspaces.
        attr_name: Name of the projectors.
        normalization: ``"sym"`` or ``"none"``.
        eigenvalue_name: Name of the eigenvalues.
        multiplicity_name: Name of the multiplicities.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Lim et al., "Sign and Basis Invariant Networks for Spectral Graph Representation Learning",
        https://arxiv.org/abs/2202.13013.
    """

    k: int
    attr_name: str = "spectral_projector_pe"
    normalization: Literal["sym", "none"] = "sym"
    eigenvalue_name: str = "spectral_projector_eigenvalue"
    multiplicity_name: str = "spectral_projector_multiplicity"

    cost: ClassVar[str] = "O(n³ + n² k) per graph"
    paper: ClassVar[str] = "Lim et al. 2023 (BasisNet)"
    sparse_alternative: ClassVar[str] = (
        "take AddLaplacianEigenvectorPE(k, complete_eigenspaces=True) instead, or "
    )

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        require_choice("normalization", self.normalization, ("sym", "none"))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(self.field_name, "pair", self.k, self.torch_dtype),
            Field(self.eigenvalue_name, "graph", self.k, self.torch_dtype),
            Field(self.multiplicity_name, "graph", self.k, torch.int64),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs(self.normalization)
        numbers = eigenspace_numbers(block.shared(shared.starts, self.normalization))
        spaces = min(self.k, block.n)
        is_member = (numbers.unsqueeze(-1) == torch.arange(spaces, device=values.device)).double()
        multiplicities = is_member.sum(1)
        eigenvalues = (values.unsqueeze(1) @ is_member).squeeze(1) / multiplicities.clamp_min(1)
        projectors = spectral_kernels(vectors, vectors, is_member, self.torch_dtype)
        return projectors, eigenvalues, multiplicities.long()
