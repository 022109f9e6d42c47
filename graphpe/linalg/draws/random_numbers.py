"""Random numbers that are functions of a key and a position, so that no draw depends on another.

A generator with a state gives a graph other numbers when the graphs before it change. Here entry
``[i, r, c]`` of a draw depends on ``keys[i]``, ``r`` and ``c`` alone: not on the rest of the stack,
and not on the number of rows or columns asked for. The bits are hashes with the finaliser of
SplitMix64, computed in int64 arithmetic, which wraps around and is the same on every device.

Paper: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

# The constants of SplitMix64 as signed 64-bit integers.
_FIRST_FACTOR = 0xBF58476D1CE4E5B9 - 2**64
SECOND_FACTOR = 0x94D049BB133111EB - 2**64
GOLDEN_RATIO = 0x9E3779B97F4A7C15 - 2**64

# Numbers made at a time: the few tensors in use (256 KiB each) then stay in the cache of a CPU.
_CACHED_ENTRIES = 2**15


def mix(values: Tensor) -> Tensor:
    """A bijection of int64 in which each bit of the result depends on all bits of the value.

    Args:
        values: int64, any shape.
    """
    return _mix_in_place(values.clone())


def combine(keys: Tensor, values: Tensor) -> Tensor:
    """Keys that depend on ``keys`` and on ``values``, int64 of shapes that broadcast."""
    return _mix_in_place(mix(keys) + (values + 1) * GOLDEN_RATIO)


def random_bits(keys: Tensor, rows: int, columns: int) -> Tensor:
    """64 random bits for each position.

    Args:
        keys: ``[b]`` int64.
        rows: Number of rows.
        columns: Number of columns.

    Returns:
        ``[b, rows, columns]`` int64; entry ``[i, r, c]`` depends on ``keys[i]``, r and c alone.
    """
    row = torch.arange(rows, device=keys.device)
    column = torch.arange(columns, device=keys.device)
    return combine(combine(keys[:, None], row)[..., None], column)


def uniform(keys: Tensor, rows: int, columns: int) -> Tensor:
    """Draws from the uniform distribution on the open interval (0, 1).

    The values are odd multiples of 2^-53, the same on every device. Arguments as for `random_bits`.

    Returns:
        ``[b, rows, columns]`` float64.
    """
    return _in_parts(keys, rows, columns, _uniform)


def normal(keys: Tensor, rows: int, columns: int) -> Tensor:
    """Draws from the standard normal distribution, by the inverse of its distribution function.

    Arguments as for `random_bits`. Between devices the last bits may differ.

    Returns:
        ``[b, rows, columns]`` float64.
    """
    return _in_parts(keys, rows, columns, _normal)


def rademacher(keys: Tensor, rows: int, columns: int) -> Tensor:
    """Draws of -1 and 1, equally likely. Arguments as for `random_bits`.

    Returns:
        ``[b, rows, columns]`` float64.
    """
    return _in_parts(keys, rows, columns, lambda bits: 1.0 - 2.0 * (bits < 0).double())


def _in_parts(keys: Tensor, rows: int, columns: int, draw: Callable[[Tensor], Tensor]) -> Tensor:
    """``draw`` of the random bits, made for as many keys at a time as stay in the cache."""
    keys_at_a_time = max(1, _CACHED_ENTRIES // max(1, rows * columns))
    return torch.cat(
        [draw(random_bits(part, rows, columns)) for part in keys.split(keys_at_a_time)]
    )


def _mix_in_place(values: Tensor) -> Tensor:
    values ^= _shift_right(values, 30)
    values *= _FIRST_FACTOR
    values ^= _shift_right(values, 27)
    values *= SECOND_FACTOR
    values ^= _shift_right(values, 31)
    return values


def _shift_right(values: Tensor, bits: int) -> Tensor:
    """Shift of int64 that fills with zeros; torch's own repeats the sign."""
    return (values >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def _uniform(bits: Tensor) -> Tensor:
    return _shift_right(bits, 12).double().add_(0.5).mul_(2.0**-52)


def _normal(bits: Tensor) -> Tensor:
    # Φ^{-1}(u) = √2 erf^{-1}(2u - 1), which is several times as fast as torch.special.ndtri
    return _uniform(bits).mul_(2.0).sub_(1.0).erfinv_().mul_(math.sqrt(2.0))
