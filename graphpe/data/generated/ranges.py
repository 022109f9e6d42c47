"""Ranges of whole numbers as settings."""

from __future__ import annotations

from collections.abc import Sequence

from graphpe.checks import require_positive_integer


def checked_range(name: str, value: Sequence[int], least: int) -> tuple[int, int]:
    """The setting ``name``, a smallest and a largest number, both included, as a tuple.

    Raises:
        ValueError: If it isn't two integers in ascending order, the first at least ``least``.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"{name} is {value!r}; it must be a smallest and a largest number")
    for number in value:
        require_positive_integer(name, number)
    smallest, largest = value
    if not least <= smallest <= largest:
        raise ValueError(
            f"{name} is {tuple(value)}; the first number must be at least {least}, and the second at least the first"
        )
    return smallest, largest
