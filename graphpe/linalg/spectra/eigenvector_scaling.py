"""Scales of eigenvectors that peers use in place of unit length."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

EigenvectorScale = Literal["l2", "l1", "max", "wavelength", "wavelength-asin", "soft"]


def rescale_eigenvectors(vectors: Tensor, values: Tensor, scale: EigenvectorScale) -> Tensor:
    r"""Rescales each eigenvector :math:`u` with eigenvalue :math:`\lambda`, as GraphGPS and graphium do.

    | scale | column |
    |---|---|
    | ``"l2"`` | u / ‖u‖₂ |
    | ``"l1"`` | u / ‖u‖₁ |
    | ``"max"`` | u / max\|u\| |
    | ``"wavelength"`` | u π / (2 max\|u\| √λ) |
    | ``"wavelength-asin"`` | asin(u / max\|u\|) / √λ |
    | ``"soft"`` | u / (Σ softmax(\|u\|) \|u\| √λ) |

    √λ counts as 1 where λ = 0. The softmax is taken over the nodes.

    Args:
        vectors: ``[b, n, k]``, columns of unit length or zero.
        values: ``[b, k]``.
        scale: Name of the rule.

    Returns:
        ``[b, n, k]``; zero columns stay zero.
    """
    if scale == "l2" or vectors.numel() == 0:
        return vectors
    modulus = vectors.mT.abs().contiguous()  # [b, k, n]: sums over rows do not depend on the batch
    if scale == "l1":
        return vectors / _positive(modulus.sum(-1)).unsqueeze(-2)
    largest = _positive(modulus.amax(-1))
    if scale == "max":
        return vectors / largest.unsqueeze(-2)
    frequency = _positive(values.clamp_min(0.0).sqrt())
    if scale == "wavelength":
        return vectors * (math.pi / (2.0 * largest * frequency)).unsqueeze(-2)
    if scale == "wavelength-asin":
        return (vectors / largest.unsqueeze(-2)).asin() / frequency.unsqueeze(-2)
    soft_maximum = _positive((modulus.softmax(-1) * modulus).sum(-1))
    return vectors / (soft_maximum * frequency).unsqueeze(-2)


def _positive(values: Tensor) -> Tensor:
    return torch.where(values > 0, values, 1.0)
