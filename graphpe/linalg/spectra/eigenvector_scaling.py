"""Scales of eigenvectors that peers use in place of unit length."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from graphpe.linalg.spectra.eigenspaces import means_over_eigenspaces

EigenvectorScale = Literal["l2", "l1", "max", "wavelength", "wavelength-asin", "soft"]


def rescale_eigenvectors(
    vectors: Tensor,
    values: Tensor,
    starts: Tensor,
    bound: Tensor | float,
    scale: EigenvectorScale,
) -> Tensor:
    r"""Rescales each eigenvector :math:`u` with eigenvalue :math:`\lambda`, as GraphGPS and graphium do.

    | scale | column |
    |---|---|
    | ``"l2"`` | u, which is of unit length |
    | ``"l1"`` | u / Σ r |
    | ``"max"`` | u / max r |
    | ``"wavelength"`` | u π / (2 max r √λ) |
    | ``"wavelength-asin"`` | u; see :func:`arcsine_wavelengths` |
    | ``"soft"`` | u / (Σ softmax(r) r √λ) |

    r_i is \|u_i\|, and where λ is repeated the root mean square of row i over the columns of the
    eigenspace. So all columns of an eigenspace have one factor, which does not depend on their basis;
    their entries may be up to √d times as large as those of a single vector, for d columns. √λ counts
    as 1 where λ = 0, and other λ count as no less than the rounding of an eigensolver, which is all
    that is known of them. Sums and the softmax are taken over the nodes.

    Args:
        vectors: ``[b, n, m]``, columns of unit length or zero; whole eigenspaces.
        values: ``[b, m]``.
        starts: ``[b, m]`` from `scale_starts`.
        bound: ``[b, 1]`` or a number: the order of magnitude of the largest eigenvalue.
        scale: Name of the rule.

    Returns:
        ``[b, n, m]``; zero columns stay zero.
    """
    if scale in ("l2", "wavelength-asin") or vectors.numel() == 0:
        return vectors
    modulus = means_over_eigenspaces(vectors.square(), starts).sqrt()
    modulus = modulus.mT.contiguous()  # [b, m, n]: sums over rows do not depend on the batch
    if scale == "l1":
        size = modulus.sum(-1)
    elif scale == "soft":
        size = (modulus.softmax(-1) * modulus).sum(-1)
    else:
        size = modulus.amax(-1)
    if scale in ("wavelength", "soft"):
        values = means_over_eigenspaces(values.unsqueeze(1), starts).squeeze(1)
        size = size * _frequencies(values, bound)
    if scale == "wavelength":
        size = size * (2.0 / math.pi)
    return vectors / _positive(size).unsqueeze(-2)


def arcsine_wavelengths(vectors: Tensor, values: Tensor, bound: Tensor | float) -> Tensor:
    r"""asin(u / max\|u\|) / √λ for each column, as GraphGPS has it.

    This is not linear in u: where λ is repeated, it depends on the basis in a way that no orthogonal
    matrix makes good.

    Args:
        vectors: ``[b, n, k]``.
        values: ``[b, k]``; √λ counts as in :func:`rescale_eigenvectors`.
        bound: ``[b, 1]`` or a number: the order of magnitude of the largest eigenvalue.

    Returns:
        ``[b, n, k]``; zero columns stay zero.
    """
    if vectors.numel() == 0:
        return vectors
    largest = _positive(vectors.abs().amax(-2))
    return (vectors / largest.unsqueeze(-2)).asin() / _frequencies(values, bound).unsqueeze(-2)


def _frequencies(values: Tensor, bound: Tensor | float) -> Tensor:
    """√λ, at least that of the rounding of the eigensolver; 1 where λ = 0."""
    rounding = torch.finfo(values.dtype).eps * bound
    return torch.where(values > 0, values.clamp_min(rounding), 1.0).sqrt()


def _positive(values: Tensor) -> Tensor:
    """1 in place of 0."""
    return torch.where(values > 0, values, 1.0)
