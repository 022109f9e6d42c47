"""Checks of arguments that many places share."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence

_LARGEST_INT64 = 2**63 - 1


def require_positive_integer(name: str, value: object, most: int = _LARGEST_INT64) -> None:
    """Raises a ValueError unless ``value`` is an integer from 1 to ``most``."""
    try:
        is_valid = not isinstance(value, bool) and operator.index(value) >= 1
    except TypeError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{name} is {value!r}; it must be an integer >= 1")
    if operator.index(value) > most:
        raise ValueError(f"{name} is {value!r}; it must be an integer from 1 to {most:,}")


def require_boolean(name: str, value: object) -> None:
    """Raises a ValueError unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; it must be True or False")


def require_seed(name: str, value: object) -> None:
    """Raises a ValueError unless ``value`` is an integer from 0 to 2^63 - 1."""
    try:
        is_valid = not isinstance(value, bool) and 0 <= operator.index(value) < 2**63
    except TypeError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{name} is {value!r}; it must be an integer from 0 to 2**63 - 1")


def require_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raises a ValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name} is {value!r}; it must be {', '.join(others)} or {last}")


def require_number(
    name: str, value: object, least: float, *, may_equal: bool = True, below: float = math.inf
) -> None:
    """Raises a ValueError unless ``value`` is a finite number from ``least`` on, and less than ``below``."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and least <= value < below and (may_equal or value > least)):
        relation = ">=" if may_equal else ">"
        limit = "" if math.isinf(below) else f" and < {below:g}"
        raise ValueError(
            f"{name} is {value!r}; it must be a finite number {relation} {least:g}{limit}"
        )


def require_probability(name: str, value: object) -> None:
    """Raises a ValueError unless ``value`` is a number over 0 and at most 1."""
    require_number(name, value, 0.0, may_equal=False)
    if value > 1:
        raise ValueError(f"{name} is {value!r}; a probability is at most 1")
