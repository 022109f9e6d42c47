"""Checks of arguments that many places share."""

from __future__ import annotations

import operator


def require_positive_integer(name: str, value: object) -> None:
    """Raises a ValueError unless ``value`` is an integer >= 1."""
    try:
        is_valid = not isinstance(value, bool) and operator.index(value) >= 1
    except TypeError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{name} is {value!r}; it must be an integer >= 1")
