"""Progress of a suite on stderr: a bar on a terminal, and a line for each run that ends."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from graphpe.benchmark.runner import Event

_WORDS = {
    "finished": "done",
    "failed": "failed",
    "busy": "left out",
    "interrupted": "interrupted",
    "note": "note",
}


class SuiteProgress:
    """Shows what happens to runs; a context manager.

    Args:
        total: How many runs there are to do.
        console: Where to show it; None takes stderr.
    """

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._total, self._ended = total, 0
        self._current: list[str] = []
        self._bar = Progress(
            BarColumn(table_column=Column(width=20)),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> SuiteProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def tell(self, event: Event) -> None:
        """Shows an event."""
        name = event.run.name
        if event.kind == "begin":
            self._current.append(name)
        else:
            if event.kind != "note":
                self._ended += 1
                self._current = [other for other in self._current if other != name]
            self._print(event)
        self._bar.update(
            self._task, completed=self._ended, description=", ".join(self._current) or "-"
        )

    def _print(self, event: Event) -> None:
        count = "" if event.kind == "note" else f"[{self._ended}/{self._total}] "
        text = f": {event.text}" if event.text else ""
        line = f"{count}{event.run.name} {_WORDS[event.kind]}{text}"
        style = "red" if event.kind == "failed" else None
        self._console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
