"""`Executor`: runs the tasks of bulk encoding somewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from graphpe.precompute.cache.task import Task
from graphpe.precompute.computing import Settings


class Executor(ABC):
    """Runs the tasks of bulk encoding somewhere; what they compute they write to the cache."""

    @abstractmethod
    def settings(self, memory_budget: int | None, device: str | None, go_on: bool) -> Settings:
        """How a task is to be computed.

        Args:
            memory_budget: Bytes for the graphs that are worked on at the same time in all processes of this machine.
            device: Where to compute; None: where the graphs are.
            go_on: Whether to go on after a graph that fails.
        """

    @abstractmethod
    def run(self, tasks: Iterator[Task], advance: Callable[[int, int], object]) -> None:
        """Runs the tasks, which are made only a few ahead, and returns when all that they write is on the disk.

        Args:
            tasks: The tasks.
            advance: Called with numbers of graphs and of shards each time that some are done.

        Raises:
            ValueError: If a graph fails, a shard can't be written, or a process is lost.
        """
