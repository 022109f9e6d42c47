"""The heat kernel: how heat that starts at one node has spread after a time."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_choice, require_number
from graphpe.fields import Field
from graphpe.linalg.spectra.spectral_kernels import spectral_kernel_diagonals, spectral_kernels
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.spectral import shared


@dataclass(frozen=True, repr=False)
class AddHeatKernelSE(UndirectedEncoding):
    r"""Adds the diagonal of the heat kernel at several times: how much heat is still where it started.

    .. math:: h_t(i) = t^{s/2} \sum_{\lambda_j > 0} e^{-t \lambda_j} u_j(i)^2

    with the eigenpairs of :math:`L = D - A` or :math:`L_{sym} = I - D^{-1/2} A D^{-1/2}`. Self-loops are removed;
    ``edge_weight`` is used if it is there. The zero modes, as many as there are connected components, are left out
    unless ``include_zero``; an isolated node has zeros then.

    Also known as HKdiagSE in GraphGPS.

    Writes:
        ``attr_name``: ``[n, len(times)]`` (node level).

    Args:
        times: Times t > 0. GraphGPS takes 1 to 20.
        attr_name: Name of the field; None concatenates it to ``x``.
        space_dimension: s; the factor :math:`t^{s/2}` makes up for the decay of heat in a space of s dimensions.
        include_zero: Whether to add the zero modes, so that without a correction the diagonal of
            :math:`e^{-tL}` results.
        normalization: ``"none"`` (GraphGPS) or ``"sym"``; :math:`I - D^{-1} A` has the same diagonal as ``"sym"``.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Sun, Ovsjanikov and Guibas, "A Concise and Provably Informative Multi-Scale Signature Based on Heat
        Diffusion", SGP 2009; Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454 (HKdiagSE).
    """

    times: tuple[float, ...] = tuple(range(1, 21))
    attr_name: str | None = "heat_kernel_se"
    space_dimension: float = 0
    include_zero: bool = False
    normalization: Literal["none", "sym"] = "none"

    cost: ClassVar[str] = "O(n³ + n² T) per graph"
    paper: ClassVar[str] = "Sun et al. 2009; Rampášek et al. 2022"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", _checked_times(self.times))
        require_number("space_dimension", self.space_dimension, 0.0)
        require_choice("normalization", self.normalization, ("none", "sym"))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", len(self.times), self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs(self.normalization)
        decay = _decay(values, self.times)
        if not self.include_zero:
            decay = decay.masked_fill((values == 0).unsqueeze(-1), 0.0)
        correction = values.new_tensor(self.times) ** (self.space_dimension / 2)
        return (spectral_kernel_diagonals(vectors, decay) * correction,)


@dataclass(frozen=True, repr=False)
class AddHeatKernelPE(UndirectedEncoding):
    r"""Adds the heat kernel between all pairs of nodes at several times.

    .. math:: H_t = e^{-t L} = U e^{-t \Lambda} U^T

    for :math:`L = D - A`, :math:`L_{sym} = I - D^{-1/2} A D^{-1/2}` or :math:`L_{rw} = I - D^{-1} A`, where
    :math:`H_t = D^{-1/2} e^{-t L_{sym}} D^{1/2}` has the transition probabilities of a walk in continuous time.
    Self-loops are removed; ``edge_weight`` is used if it is there. Nodes of different components have 0.

    Writes:
        ``attr_name``: ``[n * n, len(times)]``, row-major (source, target) (pair level).

    Args:
        times: Times t > 0.
        attr_name: Name of the field.
        normalization: ``"none"``, ``"sym"`` or ``"rw"``.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Kondor and Lafferty, "Diffusion Kernels on Graphs and Other Discrete Input Spaces", ICML 2002;
        Mialon et al., "GraphiT: Encoding Graph Structure in Transformers", https://arxiv.org/abs/2106.05667.
    """

    times: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    attr_name: str = "heat_kernel_pe"
    normalization: Literal["none", "sym", "rw"] = "none"

    cost: ClassVar[str] = "O(n³ T) per graph"
    paper: ClassVar[str] = "Kondor & Lafferty 2002"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", _checked_times(self.times))
        require_choice("normalization", self.normalization, ("none", "sym", "rw"))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", len(self.times), self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs("none" if self.normalization == "none" else "sym")
        left, right = vectors, vectors
        if self.normalization == "rw":
            degrees = block.shared(shared.simple_degrees)
            root = torch.where(degrees > 0, degrees, 1.0).sqrt().unsqueeze(-1)
            left, right = vectors / root, vectors * root
        decay = _decay(values, self.times)
        kernels = spectral_kernels(left, right, decay, self.torch_dtype)
        # No heat is negative and none crosses between components: these are rounding.
        kernels.clamp_min_(0.0)
        return (shared.within_components(block, kernels),)


def _decay(values: Tensor, times: tuple[float, ...]) -> Tensor:
    """``[b, n, T]``: exp(−tλ)."""
    return torch.exp(-values.unsqueeze(-1) * values.new_tensor(times))


def _checked_times(times: object) -> tuple[float, ...]:
    """Diffusion times as a tuple of Python numbers; raises a ValueError unless they are positive."""
    if isinstance(times, str) or not isinstance(times, Sequence) or len(times) == 0:
        raise ValueError(f"times is {times!r}; it must be a list of positive numbers")
    for position, time in enumerate(times):
        require_number(f"times[{position}]", time, 0.0, may_equal=False)
    return tuple(int(time) if isinstance(time, numbers.Integral) else float(time) for time in times)
