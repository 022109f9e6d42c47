"""Magnetic Laplacians of directed graphs, their Hermitian eigenpairs, and relative potentials."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from graphpe.linalg.laplacian import inverse_or_zero, without_self_loops
from graphpe.linalg.spectra.eigh import eigh

TwoWay = Literal["binary", "phase", "average"]
MagneticNormalization = Literal["sym", "none"]
Isolated = Literal["zero", "one"]

# Eigenvalues of different components that are closer than this share of the spectrum are equal.
_ROUNDING = 1e-12


def magnetic_laplacian(
    adjacency: Tensor,
    potentials: Tensor,
    two_way: TwoWay = "binary",
    normalization: MagneticNormalization = "sym",
    isolated: Isolated = "zero",
) -> Tensor:
    r"""The magnetic Laplacians of each graph of a stack, one for each potential q.

    D − H or I − D^{-1/2} H D^{-1/2}, with w = A_uv, w' = A_vu and a, a' = 1 where these are positive:

    | ``two_way`` | H_uv | D |
    |---|---|---|
    | ``"binary"`` | max(a, a') e^{i2πq(a − a')}, self-loops kept | row sums of max(a, a') |
    | ``"phase"`` | w e^{i2πq} + w' e^{−i2πq}, no self-loops | in- plus out-degree |
    | ``"average"`` | (w + w')/2 e^{i2πq(a − a')}, no self-loops | row sums of (w + w')/2 |

    Args:
        adjacency: ``[b, n, n]`` float64, non-negative, row = source.
        potentials: ``[b, Q]`` q.
        two_way: How u→v and v→u make one entry.
        normalization: ``"none"`` or ``"sym"``.
        isolated: Entry on the diagonal of a node with D = 0 for ``"sym"``: 0 or 1.

    Returns:
        ``[b, Q, n, n]`` complex128, exactly Hermitian.
    """
    weight = adjacency if two_way == "binary" else without_self_loops(adjacency)
    joins = (weight > 0).to(weight.dtype)
    fixed, turning, skew = hopping_parts(weight, weight.mT, joins, joins.mT, two_way)
    degrees = (fixed + turning).sum(-1)
    if normalization == "sym":
        scale = inverse_or_zero(degrees.sqrt())
        # the product of the scales first: s_i s_j = s_j s_i keeps the result exactly Hermitian
        scales = scale.unsqueeze(-1) * scale.unsqueeze(-2)
        fixed, turning, skew = fixed * scales, turning * scales, skew * scales
        diagonal = ((degrees > 0) | (isolated == "one")).to(weight.dtype)
    else:
        diagonal = degrees
    cosine, sine = (part[..., None, None] for part in cosine_and_sine(potentials))
    real = -(fixed.unsqueeze(1) + turning.unsqueeze(1) * cosine)
    real.diagonal(dim1=-2, dim2=-1).add_(diagonal.unsqueeze(1))
    return torch.complex(real, -(skew.unsqueeze(1) * sine))


def hopping_parts(
    weight: Any, back: Any, joins: Any, joins_back: Any, two_way: TwoWay
) -> tuple[Any, Any, Any]:
    """F, T and S with H = F + T cos 2πq + i S sin 2πq; F + T has the degrees as row sums.

    Args:
        weight: Tensors ``[b, n, n]`` or sparse arrays ``[n, n]``: the weights A, without self-loops
            unless ``two_way`` is ``"binary"``.
        back: Their transposes.
        joins: 1 where ``weight`` is positive, else 0.
        joins_back: Its transpose.
        two_way: See `magnetic_laplacian`.
    """
    if two_way == "phase":
        return weight * 0.0, weight + back, weight - back
    in_both = joins * joins_back
    strength = joins + joins_back - in_both if two_way == "binary" else (weight + back) * 0.5
    fixed = strength * in_both
    return fixed, strength - fixed, strength * (joins - joins_back)


def cosine_and_sine(potentials: Tensor) -> tuple[Tensor, Tensor]:
    """cos 2πq and sin 2πq; q and q + 1 give the same, −q exactly the conjugate."""
    angle = 2.0 * math.pi * (potentials - potentials.round())
    return angle.cos(), angle.sin()


def relative_divisor(adjacency: Tensor) -> Tensor:
    """max(min(m, n), 1), m the number of pairs of nodes that are joined in exactly one direction.

    Args:
        adjacency: ``[b, n, n]``, n the number of nodes.

    Returns:
        ``[b]`` float64.
    """
    joins = adjacency > 0
    one_way = (joins & ~joins.mT).sum((-2, -1))
    return one_way.clamp(max=adjacency.shape[-1]).clamp(min=1).double()


def magnetic_eigenpairs(operator: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """All eigenpairs of positive semi-definite Hermitian matrices, each vector in one component only.

    Equal eigenvalues of different components follow the order of the components, so that the vectors
    of one are not mixed with, or changed by, those of another. Inside a component the basis of a
    repeated eigenvalue is the solver's, and so are the phases.

    Args:
        operator: ``[b, Q, n, n]`` complex128 with non-negative eigenvalues; changed.
        labels: ``[b, n]`` number of the component of each node, from 0.

    Returns:
        Values ``[b, Q, n]``, ascending, and vectors ``[b, Q, n, n]``, one per column.
    """
    if operator.numel() == 0:
        values, vectors = eigh(operator.flatten(0, 1))
        return values.view(operator.shape[:-1]), vectors.view(operator.shape)
    # Of the spectrum, [b, Q]. Moduli of complex numbers would be rounded by their place in the stack.
    bound = (operator.real.abs() + operator.imag.abs()).sum(-1).amax(-1)
    # Component c is moved by c times more than the spectrum is wide: components cannot mix.
    step = torch.where(bound > 0, 2.0 * bound, 1.0)[..., None]
    is_connected = not bool(labels.any())
    if not is_connected:
        operator.diagonal(dim1=-2, dim2=-1).add_(step * labels.unsqueeze(1))
    values, vectors = eigh(operator.flatten(0, 1))
    values, vectors = values.view(operator.shape[:-1]), vectors.view(operator.shape)
    if is_connected:
        return values.clamp_min_(0.0), vectors
    component = (values / step + 0.25).floor()
    values = (values - step * component).clamp_min_(0.0)
    order = component_order(values, component.long(), bound[..., None])
    component = component.gather(-1, order)
    vectors = vectors.gather(-1, order.unsqueeze(-2).expand_as(vectors))
    is_own = labels[:, None, :, None] == component.unsqueeze(-2)
    return values.sort(dim=-1).values, torch.where(is_own, vectors, 0.0)


def component_order(values: Tensor, component: Tensor, bound: Tensor) -> Tensor:
    """Positions that sort values ascending, and those that are equal by their component.

    Args:
        values: ``[..., m]``.
        component: ``[..., m]`` int64.
        bound: ``[..., 1]``: values count as equal if they differ by at most 1e-12 of it.

    Returns:
        ``[..., m]`` int64.
    """
    ascending, order = values.sort(dim=-1, stable=True)
    starts = ascending.diff(dim=-1) > _ROUNDING * bound
    group = torch.nn.functional.pad(starts.long().cumsum(-1), (1, 0))
    key = group * (component.max() + 1) + component.gather(-1, order)
    return order.gather(-1, key.argsort(dim=-1, stable=True))
