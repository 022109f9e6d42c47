"""Normalisation of a field before anything is learned from it."""

from __future__ import annotations

from typing import get_args

from torch import nn

from graphpe.checks import require_choice
from graphpe.nn.blocks import Normalization, normalization


def raw_normalization(kind: Normalization, columns: int) -> nn.Module:
    """Builds the normalisation of the rows of a field; its argument in an encoder is called ``raw_norm``.

    Args:
        kind: See :func:`~graphpe.nn.blocks.normalization`.
        columns: Number of columns of the field.

    Raises:
        ValueError: If there is no such normalisation, or if it leaves nothing of the field.
    """
    require_choice("raw_norm", kind, get_args(Normalization))
    if kind == "layer" and columns == 1:
        raise ValueError(
            "raw_norm is 'layer', which makes a field of one column 0 everywhere; it must be 'batch' or 'none'"
        )
    return normalization(kind, columns)
