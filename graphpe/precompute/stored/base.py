"""`StoredGraphs`: graphs of which any range can be had."""

from __future__ import annotations

from abc import ABC, abstractmethod

from graphpe.graphs import GraphBatch
from graphpe.precompute.sizes import Sizes


class StoredGraphs(ABC):
    """Graphs of which any range can be had.

    Attributes:
        sizes: How large each graph is.
        invalid: Numbers of the graphs that can't be read, and why. They count as graphs whose edges are loops of the
            first node, so that the others keep their numbers; their values must not be used.
    """

    sizes: Sizes
    invalid: dict[int, str]

    def __len__(self) -> int:
        return len(self.sizes)

    @abstractmethod
    def part(self, start: int, stop: int) -> GraphBatch:
        """The graphs from ``start`` to before ``stop``, which messages call by their numbers in the whole."""

    @abstractmethod
    def fingerprint(self) -> str:
        """32 hexadecimal digits that stand for the content of all graphs."""
