"""Signatures of nodes and of whole graphs by the distribution of their eigenvalues."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_number, require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.spectra.spectral_kernels import spectral_kernel_diagonals
from graphpe.transforms.core.undirected import UndirectedEncoding

# No eigenvalue of L_sym is larger.
_LARGEST_EIGENVALUE = 2.0


@dataclass(frozen=True, repr=False)
class AddWaveKernelSE(UndirectedEncoding):
    r"""Adds the wave kernel signature: how probably a quantum particle of energy e is at a node.

    .. math:: w_e(i) = \sum_{\lambda_j > 0} p_e(\lambda_j)\, u_j(i)^2, \qquad
              p_e(\lambda) \propto \exp\Bigl(-\frac{(\log \lambda - e)^2}{2 \sigma^2}\Bigr), \qquad
              \sum_j p_e(\lambda_j) = 1

    with the eigenpairs of :math:`L_{sym} = I - D^{-1/2} A D^{-1/2}`, except the zero modes, as many as there are
    connected components. The energies are evenly spaced from :math:`\log` ``smallest`` to :math:`\log 2`, the same for
    all graphs. Graphs without edges have zeros. Self-loops are removed; ``edge_weight`` is used if it is there.

    Writes:
        ``attr_name``: ``[n, energies]`` (node level).

    Args:
        energies: Number of energies, at least 2.
        attr_name: Name of the field; None concatenates it to ``x``.
        smallest: Eigenvalue of the first energy, between 0 and 2.
        width: :math:`\sigma` in steps between energies, at least 0.1 (what is narrower would tell apart the copies of a
            repeated eigenvalue by their rounding). Aubry et al. take 7 with 100 energies.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Aubry, Schlickewei and Cremers, "The Wave Kernel Signature: A Quantum Mechanical Approach to Shape Analysis",
        ICCV Workshops 2011.
    """

    energies: int = 16
    attr_name: str | None = "wave_kernel_se"
    smallest: float = 0.02
    width: float = 1.0

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Aubry et al. 2011"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def __post_init__(self) -> None:
        _require_at_least_two("energies", self.energies)
        require_number("smallest", self.smallest, 0.0, may_equal=False, below=_LARGEST_EIGENVALUE)
        require_number("width", self.width, 0.1)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", self.energies, self.torch_dtype),)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * self.energies

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs("sym")
        first, last = math.log(self.smallest), math.log(_LARGEST_EIGENVALUE)
        energies = torch.linspace(
            first, last, self.energies, dtype=values.dtype, device=values.device
        )
        sigma = self.width * (last - first) / (self.energies - 1)
        is_zero_mode = values == 0
        exponents = ((values.log().unsqueeze(1) - energies[:, None]) / sigma).square() / -2
        # As a softmax it does not underflow where no eigenvalue is near an energy.
        weights = exponents.masked_fill(is_zero_mode.unsqueeze(1), -torch.inf).softmax(-1)
        weights = weights.masked_fill(is_zero_mode.unsqueeze(1), 0.0)
        return (spectral_kernel_diagonals(vectors, weights.mT),)


@dataclass(frozen=True, repr=False)
class AddSpectralDensitySE(UndirectedEncoding):
    r"""Adds the density of states: a histogram of the eigenvalues of the Laplacian, for the graph as a whole.

    .. math:: \rho_b = \frac{1}{n} \sum_j \max\Bigl(0,\ 1 - \frac{|\lambda_j - c_b|}{\Delta}\Bigr)

    for all eigenvalues of :math:`L_{sym} = I - D^{-1/2} A D^{-1/2}`, with centres :math:`c_b` evenly spaced by
    :math:`\Delta` from 0 to 2. An eigenvalue is shared out between the two nearest centres, so that rounding moves
    none from bin to bin. The numbers of a graph sum to 1. Self-loops are removed; ``edge_weight`` is used if it is
    there.

    Writes:
        ``attr_name``: ``[1, bins]`` (graph level).

    Args:
        bins: Number of centres, at least 2.
        attr_name: Name of the field.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Dong, Benson and Bindel, "Network Density of States", https://arxiv.org/abs/1905.09758.
    """

    bins: int = 16
    attr_name: str = "spectral_density_se"

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Dong et al. 2019"
    sparse_alternative: ClassVar[str] = (
        "take the eigenvalues of AddLaplacianEigenvectorPE instead, or "
    )

    def __post_init__(self) -> None:
        _require_at_least_two("bins", self.bins)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "graph", self.bins, self.torch_dtype),)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * self.bins

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, _ = block.eigenpairs("sym")
        position = values.clamp(0.0, _LARGEST_EIGENVALUE) / _LARGEST_EIGENVALUE * (self.bins - 1)
        centres = torch.arange(self.bins, device=values.device)
        shares = (1.0 - (position.unsqueeze(1) - centres[:, None]).abs()).clamp_min(0.0)
        return (shares.sum(-1) / max(1, block.n),)


def _require_at_least_two(name: str, value: object) -> None:
    require_positive_integer(name, value)
    if value == 1:
        raise ValueError(f"{name} is 1; it must be an integer >= 2")
