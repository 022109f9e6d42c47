"""How far encoding is: speed, time left and shards, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from graphpe.precompute import progress
from graphpe.precompute.progress import EncodingProgress


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def console(is_terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=160)


def test_lines_come_from_time_to_time_where_there_is_no_terminal(clock: Clock) -> None:
    lines = console(False)
    with EncodingProgress(True, console=lines) as bar:
        bar.start(41_127, 11)
        for _ in range(9):
            clock.now += 2
            bar.advance(3_000, 0)
        clock.now += 27
        bar.advance(3_000, 2)
    assert lines.file.getvalue().splitlines() == [
        "Encoding: 15,000 of 41,127 graphs (1,500/s, 17 s left, 0 of 11 shards)",
        "Encoding: 30,000 of 41,127 graphs (667/s, 17 s left, 2 of 11 shards)",
        "Encoding: 30,000 of 41,127 graphs (667/s, 17 s left, 2 of 11 shards)",
    ]


def test_short_work_says_nothing(clock: Clock) -> None:
    lines = console(False)
    with EncodingProgress(True, console=lines) as bar:
        bar.start(100, 0)
        clock.now += 9
        bar.advance(100, 0)
    assert lines.file.getvalue() == ""


def test_a_terminal_has_a_bar_with_all_there_is_to_know(clock: Clock) -> None:
    terminal = console(True)
    with EncodingProgress(True, "Reading", terminal) as bar:
        bar.start(1000, 4)
        clock.now += 100
        bar.advance(300, 1)
        bar.advance(-50, 0)
        bar._bar.refresh()
    shown = terminal.file.getvalue()
    assert "Reading" in shown
    assert "250/1000" in shown
    assert "2.5/s, 5 min 0 s left, 1 of 4 shards" in shown


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_is_shown_if_it_is_not_wanted(clock: Clock, is_terminal: bool) -> None:
    silent = console(is_terminal)
    with EncodingProgress(False, console=silent) as bar:
        bar.start(10, 1)
        clock.now += 100
        bar.advance(10, 1)
    assert silent.file.getvalue() == ""


def test_before_anything_is_done_there_is_no_speed(clock: Clock) -> None:
    bar = EncodingProgress(True, console=console(False))
    bar.start(10, 0)
    assert bar.rest() == ""
    clock.now += 7300
    bar.advance(5, 0)
    assert bar.rest() == "0.00068/s, 2 h 1 min left"
