"""Rotation of queries and keys by angles."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def rotate(x: Tensor, angles: Tensor, heads: int) -> Tensor:
    """Rotates channels m and m + d/2 of each head, as coordinates of a plane, by the angle m of that head.

    Args:
        x: ``[R, heads * d]``.
        angles: ``[R, heads * d / 2]``.
        heads: Number of heads.

    Returns:
        ``[R, heads * d]`` in the dtype of ``x``.
    """
    angles = angles.unflatten(-1, (heads, -1))
    cosine, sine = angles.cos(), angles.sin()
    first, second = x.unflatten(-1, (heads, 2, -1)).unbind(2)
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return torch.stack(turned, dim=2).flatten(1).to(x.dtype)


def sum_of_angles(angles: Sequence[Tensor], num_rows: int) -> Tensor | None:
    """One rotation after the other, ``[R, channels / 2]``: their angles add up. Those of tokens are 0."""
    if not angles:
        return None
    total = torch.stack(list(angles)).sum(0)
    return torch.cat([total, total.new_zeros(num_rows - len(total), total.size(1))])


def check_rotation(channels: int, heads: int) -> None:
    """Refuses heads of an odd width, which has no pairs of channels to rotate."""
    width = channels // heads
    if width % 2:
        raise ValueError(
            f"heads is {heads}, so that a head has {width} of hidden_channels={channels}, but angles rotate pairs of "
            "channels; make hidden_channels / heads even"
        )
