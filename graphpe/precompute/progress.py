"""How far bulk encoding is: a bar on a terminal, lines from time to time elsewhere."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn
from rich.text import Text

# Seconds after which the first line comes where there is no terminal, and between lines.
_FIRST, _BETWEEN = 10.0, 30.0


class EncodingProgress:
    """Shows on stderr how many graphs are done, how fast it goes, how long it will take, and how many shards there are.

    On a terminal that is a bar, which is gone in the end. Elsewhere it is a line from time to time, and nothing at all
    for work of a few seconds.

    Args:
        shown: Whether to show anything.
        verb: What is done to the graphs.
        console: Where; None: stderr.
    """

    def __init__(self, shown: bool, verb: str = "Encoding", console: Console | None = None) -> None:
        self._shown = shown
        self._verb = verb
        self._console = console or Console(stderr=True)
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._graphs = self._shards = self._all_graphs = self._all_shards = 0
        self._begun = self._said = time.monotonic()
        self._has_said = False
        if shown and self._console.is_terminal:
            self._bar = Progress(
                TextColumn(verb),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("graphs"),
                _Rest(self),
                console=self._console,
                transient=True,
            )

    def start(self, graphs: int, shards: int) -> None:
        """Says how much there is to do.

        Args:
            graphs: Number of graphs.
            shards: Number of shards; 0 if none are written.
        """
        self._begun = self._said = time.monotonic()
        self._all_graphs, self._all_shards = graphs, shards
        if self._bar is not None and graphs:
            self._bar.add_task("", total=graphs)

    def advance(self, graphs: int, shards: int) -> None:
        """Says how much more is done; less than nothing where work is done anew."""
        with self._lock:
            self._graphs += graphs
            self._shards += shards
            if self._bar is not None:
                for task in self._bar.task_ids:
                    self._bar.advance(task, graphs)
            elif self._shown:
                self._say_now_and_then()

    def rest(self) -> str:
        """Speed, time left and shards, in words."""
        elapsed = time.monotonic() - self._begun
        rate = self._graphs / elapsed if elapsed > 0 else 0.0
        said = []
        if rate > 0:
            left = max(0, self._all_graphs - self._graphs) / rate
            said.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
            said.append(f"{_duration(left)} left")
        if self._all_shards:
            said.append(f"{self._shards:,} of {self._all_shards:,} shards")
        return ", ".join(said)

    def _say_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._said >= (_BETWEEN if self._has_said else _FIRST):
            self._said, self._has_said = now, True
            self._say()

    def _say(self) -> None:
        done = f"{self._verb}: {self._graphs:,} of {self._all_graphs:,} graphs ({self.rest()})"
        print(done, file=self._console.file, flush=True)

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
        elif self._has_said:  # whoever saw that it began sees where it ended
            self._say()


class _Rest(TextColumn):
    """Speed, time left and shards."""

    def __init__(self, progress: EncodingProgress) -> None:
        super().__init__("")
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.rest())


def _duration(seconds: float) -> str:
    """A time in words: 9 s, 2 min 5 s, 3 h 20 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
