"""How far bulk encoding is: a bar on a terminal, lines from time to time elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)


class EncodingProgress:
    """Shows on stderr how many graphs are done.

    Args:
        shown: Whether to show anything.
        verb: What is done to the graphs.
    """

    def __init__(self, shown: bool, verb: str = "Encoding") -> None:
        console = Console(stderr=True)
        self._verb = verb
        self._bar: Progress | None = None
        self._task = None
        if shown and console.is_terminal:
            self._bar = Progress(
                TextColumn(verb),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("graphs"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )

    def start(self, graphs: int, shards: int) -> None:
        """Says how much there is to do."""
        if self._bar is not None:
            self._task = self._bar.add_task("", total=graphs)

    def advance(self, graphs: int, shards: int) -> None:
        """Says how much more is done."""
        if self._bar is not None:
            self._bar.advance(self._task, graphs)

    def __enter__(self) -> EncodingProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
