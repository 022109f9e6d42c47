"""How the widths of an encoding's fields depend on its settings, found by varying the settings a little."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphpe.transforms import Encoding

# Given for a required setting: small, even, and enough for settings that have a least value.
_EXAMPLE = 8


def required_settings(encoding: type[Encoding]) -> list[str]:
    """The settings that must be given; the first one if none must but the defaults don't do."""
    settings = sorted(dataclasses.fields(encoding), key=lambda setting: setting.kw_only)
    required = [
        setting.name
        for setting in settings
        if setting.default is dataclasses.MISSING and setting.default_factory is dataclasses.MISSING
    ]
    if required:
        return required
    try:
        encoding()
    except (TypeError, ValueError):
        return [settings[0].name]
    return []


def example(encoding: type[Encoding]) -> Encoding:
    """A small instance."""
    return encoding(**dict.fromkeys(required_settings(encoding), _EXAMPLE))


def widths(encoding: type[Encoding]) -> list[str]:
    """The width of each field: a number, or a formula of the settings that it depends on.

    ``"k"``, ``"channels * (steps + 1)"``; with its value if all of these settings have defaults: ``"len(times) = 20"``.
    Where no such formula is found, the settings are named: ``"by k, rounds"``, ``"24 (rounds)"``.
    """
    required = required_settings(encoding)
    base = example(encoding)
    slopes = list(_slopes(base))
    return [
        _formula(field.width, number, slopes, required)
        for number, field in enumerate(base.fields())
    ]


@dataclass(frozen=True)
class _Slopes:
    """How widths grow with a setting: per field the growth per step, NaN if it isn't even."""

    name: str
    size: int
    is_length: bool
    growth: tuple[float, ...]

    @property
    def label(self) -> str:
        return f"len({self.name})" if self.is_length else self.name


def _slopes(base: Encoding) -> Iterator[_Slopes]:
    """What is seen at each setting that is a number or has a length, when it alone is varied."""
    before = [field.width for field in base.fields()]
    for setting in dataclasses.fields(base):
        value = getattr(base, setting.name)
        is_length = isinstance(value, tuple)
        if not is_length and (isinstance(value, bool) or not isinstance(value, int)):
            continue
        size = len(value) if is_length else value
        growths = [
            [(width - old) / (other_size - size) for width, old in zip(after, before, strict=True)]
            for other_size, after in _varied(base, setting.name, value)
            if len(after) == len(before)
        ]
        if growths:
            growth = tuple(
                per_field[0] if len(set(per_field)) == 1 else math.nan
                for per_field in zip(*growths, strict=True)
            )
            yield _Slopes(setting.name, size, is_length, growth)


def _varied(
    base: Encoding, name: str, value: int | tuple[Any, ...]
) -> Iterator[tuple[int, list[int]]]:
    """Other sizes of a setting and the widths there; those that the encoding refuses are left out."""
    others = [value[:-1], value[:-2]] if isinstance(value, tuple) else [value + 2, value + 4]
    for other in others:
        try:
            fields = dataclasses.replace(base, **{name: other}).fields()
        except (TypeError, ValueError):
            continue
        size = len(other) if isinstance(other, tuple) else other
        if other != value:
            yield size, [field.width for field in fields]


def _formula(width: int, number: int, slopes: list[_Slopes], required: list[str]) -> str:
    """The width of the field of that number in terms of the settings."""
    relevant = [slope for slope in slopes if slope.growth[number] != 0]
    if not relevant:
        return str(width)
    names = ", ".join(slope.name for slope in relevant)
    formula = _product(width, number, relevant)
    is_given = not any(slope.name in required for slope in relevant)
    if formula is None:
        return f"{width} ({names})" if is_given else f"by {names}"
    return f"{formula} = {width}" if is_given else formula


def _product(width: int, number: int, relevant: list[_Slopes]) -> str | None:
    """``c * (a + d) * b`` or ``c * a + d``; None if the width is neither."""
    growths = [slope.growth[number] for slope in relevant]
    if any(math.isnan(growth) for growth in growths):
        return None
    # A product of terms a + d grows with a by the product of the others, which is width / (a + d).
    offsets = [width / growth - slope.size for slope, growth in zip(relevant, growths, strict=True)]
    factor = width / math.prod(width / growth for growth in growths)
    if factor.is_integer() and all(offset.is_integer() for offset in offsets):
        terms = [
            _sum(slope.label, int(offset)) for slope, offset in zip(relevant, offsets, strict=True)
        ]
        if factor == 1 and len(terms) == 1:
            return terms[0]
        terms = [f"({term})" if " " in term else term for term in terms]
        return " * ".join(terms if factor == 1 else [str(int(factor)), *terms])
    if len(relevant) == 1 and growths[0].is_integer():
        term = f"{int(growths[0])} * {relevant[0].label}"
        return _sum(term, int(width - growths[0] * relevant[0].size))
    return None


def _sum(term: str, number: int) -> str:
    return term if number == 0 else f"{term} {'+' if number > 0 else '-'} {abs(number)}"
