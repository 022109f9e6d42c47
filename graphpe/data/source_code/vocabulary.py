"""The attributes of nodes as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from graphpe.data.source_code.syntax_tree import MASK

NO_ATTRIBUTE, UNKNOWN, MASKED = range(3)
RESERVED = 3


@dataclass(frozen=True)
class AttributeVocabulary:
    """The attributes of nodes, numbered from 3 on; 0 is none, 1 any other attribute, 2 the masked name.

    Args:
        attributes: Frequent attributes first, equally frequent ones in alphabetical order.
    """

    attributes: tuple[str, ...]

    @classmethod
    def of(cls, counts: Counter[str], size: int) -> AttributeVocabulary:
        """The ``size`` most frequent attributes.

        Args:
            counts: How often each attribute occurs in the training part.
            size: Largest number of attributes.
        """
        by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        frequent = (attribute for attribute, _ in by_frequency if attribute != MASK)
        return cls(tuple(attribute for attribute, _ in zip(frequent, range(size), strict=False)))

    def encode(self, attributes: Iterable[str | None]) -> list[int]:
        """The number of each attribute."""
        return [
            NO_ATTRIBUTE if attribute is None else self._numbers.get(attribute, UNKNOWN)
            for attribute in attributes
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        numbers = {attribute: number for number, attribute in enumerate(self.attributes, RESERVED)}
        return {**numbers, MASK: MASKED}
