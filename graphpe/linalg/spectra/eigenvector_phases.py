"""Conventions that fix the phases of complex eigenvectors.

All arithmetic is on real and imaginary parts: kernels for complex numbers round differently in the
middle and at the end of an array, so that values would depend on what else is in a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import torch
from torch import Tensor

# Moduli within this relative distance of the largest count as tied with it.
_TIE_TOLERANCE = 1e-6


def canonical_phases(vectors: Tensor) -> Tensor:
    """Turns columns so that an entry of largest modulus is real and positive.

    Which one of several entries that tie for it (to within 1e-6) is settled by the first of these
    moments of the column v that is not 0: the sum of the tied entries, Σ|v|² v, Σ|v|⁴ v, Σ v, and
    Σ|w|² v for each column w. It is the tied entry whose phase is closest to that of the moment, and
    of two on both sides the one ahead of it. None of this depends on phases or the order of nodes.
    If all moments are 0, it is the first tied node: so it is where a symmetry of the graph turns
    the column into a multiple of itself, so that no rule could do better, and, rarely, where one of
    the undirected graph does.

    Args:
        vectors: ``[..., n, k]``, complex.

    Returns:
        ``[..., n, k]``; zero columns stay zero.
    """
    if vectors.numel() == 0:
        return vectors
    modulus = _modulus(vectors)
    largest = modulus.amax(-2, keepdim=True)
    is_tied = modulus >= largest * (1.0 - _TIE_TOLERANCE)
    pivot = modulus.argmax(-2)
    several = (is_tied.sum(-2) > 1) & (largest.squeeze(-2) > 0)
    if bool(several.any()):
        columns, scale = vectors.mT[several], largest.mT[several]
        stack = several.nonzero(as_tuple=True)[:-1]  # where the matrix of each column is
        others = (column[stack].square() for column in modulus.unbind(-1))
        pivot[several] = _pivots_of_tied(
            columns.real / scale, columns.imag / scale, is_tied.mT[several], others
        )
    return _turned(vectors, vectors.gather(-2, pivot.unsqueeze(-2)))


def root_phases(vectors: Tensor) -> Tensor:
    """Turns columns so that all are real and positive at one node, the root.

    The root is where the first column has its largest modulus; of tied nodes (to within 1e-6) the
    one where the second column has, and so on. If all moduli are tied, as in a tournament without
    cycles, the largest real and then imaginary part of the first column decides, turned as in
    :func:`canonical_phases`, then that of the second, and so on; at last it is the first node. A
    column that is 0 at the root, such as those of other components, keeps its canonical phase.

    Args:
        vectors: ``[..., n, k]``, complex.

    Returns:
        ``[..., n, k]``.
    """
    if vectors.numel() == 0:
        return vectors
    modulus = _modulus(vectors)
    largest = modulus.amax(-2, keepdim=True)
    canonical = canonical_phases(vectors)
    parts = torch.stack([canonical.real, canonical.imag], dim=-1).flatten(-2)
    may_be_root = torch.ones_like(modulus[..., 0], dtype=torch.bool)
    for score in (*modulus.unbind(-1), *parts.unbind(-1)):
        if bool((may_be_root.sum(-1) == 1).all()):
            break
        best = torch.where(may_be_root, score, -torch.inf).amax(-1, keepdim=True)
        may_be_root &= score >= best - _TIE_TOLERANCE * score.abs().amax(-1, keepdim=True)
    root = may_be_root.to(torch.uint8).argmax(-1)
    at_root = _row(vectors, root)
    has_phase = _modulus(at_root) > _TIE_TOLERANCE * largest
    return torch.where(has_phase, _turned(vectors, at_root), canonical)


def reference_phases(vectors: Tensor) -> Tensor:
    """Turns columns as the code of Geisler et al. does, which depends on the phases that they had.

    Each column gets the sign that makes its real part of largest modulus positive; then all are
    turned to be real and not negative at the node where the first has its largest real part.

    Args:
        vectors: ``[..., n, k]``, complex.

    Returns:
        ``[..., n, k]``.
    """
    if vectors.numel() == 0:
        return vectors
    real = vectors.real
    greatest = real.gather(-2, real.abs().argmax(-2, keepdim=True))
    vectors = torch.where(greatest < 0, -vectors, vectors)
    return _turned(vectors, _row(vectors, vectors.real[..., 0].argmax(-1)))


def _pivots_of_tied(
    real: Tensor, imaginary: Tensor, is_tied: Tensor, others: Iterator[Tensor]
) -> Tensor:
    """``[m]``: which entry of columns ``[m, n]``, scaled to a largest modulus of 1, is to be positive."""
    squared = real.square() + imaginary.square()
    own = is_tied.to(real.dtype), squared, squared.square(), torch.ones_like(squared)
    cosine, sine = torch.zeros_like(real[:, :1]), torch.zeros_like(real[:, :1])  # of the moment
    is_found = torch.zeros_like(cosine, dtype=torch.bool)
    for weights in chain(own, others):
        sums = [(weights * part).sum(-1, keepdim=True) for part in (real, imaginary)]
        size = (sums[0].square() + sums[1].square()).sqrt()
        is_clear = size > _TIE_TOLERANCE * weights.sum(-1, keepdim=True)
        cosine = torch.where(is_clear & ~is_found, sums[0] / size, cosine)
        sine = torch.where(is_clear & ~is_found, sums[1] / size, sine)
        is_found |= is_clear
        if bool(is_found.all()):
            break

    along = real * cosine + imaginary * sine
    ahead = imaginary * cosine - real * sine
    closeness = torch.where(is_tied, along, -2.0)
    is_closest = closeness >= closeness.amax(-1, keepdim=True) - _TIE_TOLERANCE
    # With no moment all are as close, and the first of them is taken.
    return torch.where(is_closest, ahead, -2.0).argmax(-1)


def _row(vectors: Tensor, node: Tensor) -> Tensor:
    """``[..., 1, k]``: the entries of all columns at a node ``[...]``."""
    index = node[..., None, None].expand(*vectors.shape[:-2], 1, vectors.shape[-1])
    return vectors.gather(-2, index)


def _modulus(vectors: Tensor) -> Tensor:
    return (vectors.real.square() + vectors.imag.square()).sqrt()


def _turned(vectors: Tensor, pivot: Tensor) -> Tensor:
    """Columns multiplied by the phases that make ``pivot [..., 1, k]`` positive; not where it is 0."""
    modulus = _modulus(pivot)
    cosine = torch.where(modulus > 0, pivot.real / modulus, 1.0)
    sine = torch.where(modulus > 0, pivot.imag / modulus, 0.0)
    real, imaginary = vectors.real, vectors.imag
    return torch.complex(real * cosine + imaginary * sine, imaginary * cosine - real * sine)
