"""Attributes as numbers."""

from __future__ import annotations

from collections import Counter

from graphpe.data.source_code.syntax_tree import MASK
from graphpe.data.source_code.vocabulary import AttributeVocabulary


def test_frequent_attributes_come_first_and_ties_are_alphabetical() -> None:
    counts = Counter({"c": 1, "b": 2, "d": 1, "a": 2, MASK: 9, "e": 3})
    vocabulary = AttributeVocabulary.of(counts, 4)
    assert vocabulary.attributes == ("e", "a", "b", "c")
    assert vocabulary.encode([None, "x", "d", MASK, "e", "c"]) == [0, 1, 1, 2, 3, 6]


def test_fewer_attributes_than_asked_for() -> None:
    assert AttributeVocabulary.of(Counter("ab"), 10).attributes == ("a", "b")
