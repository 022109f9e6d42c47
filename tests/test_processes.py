"""Work divided among processes: in order, no faster than it is used, and with none of them left in the end."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphpe.processes import in_processes


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_and_items_are_taken_as_they_are_needed(
    tmp_path: Path, workers: int
) -> None:
    """Those that are closed while they are at work are gone at once."""
    taken = []

    def items():
        for number in range(60):
            taken.append(number)
            yield number

    def root(number: int) -> float:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(300 * (number >= 40))
        return math.sqrt(number)

    results = in_processes(root, items(), workers, "computes roots")
    for number in range(30):
        assert next(results) == math.sqrt(number)
        assert len(taken) <= number + 3 * workers
    results.close()
    pids = {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}
    assert bool(pids) == (workers > 1)
    assert not any(is_there(pid) for pid in pids)


def test_an_error_of_the_function_is_raised_as_it_is_and_ends_what_is_at_work(
    tmp_path: Path,
) -> None:
    def work(number: int) -> None:
        (tmp_path / str(os.getpid())).touch()
        while len(list(tmp_path.iterdir())) < 2:  # both have begun
            time.sleep(0.01)
        if number == 1:
            raise KeyError("item 1")
        time.sleep(number * 300)

    with pytest.raises(KeyError, match="item 1"):
        list(in_processes(work, [0, 1, 2, 2], 2, "works"))
    assert not any(is_there(int(path.name)) for path in tmp_path.iterdir())


def test_a_lost_process_is_one_line() -> None:
    with pytest.raises(
        ValueError, match=r"a process that exits ended early.*fewer workers than 2"
    ) as error:
        list(in_processes(os._exit, [3], 2, "exits"))
    assert "\n" not in str(error.value)


def test_work_that_cannot_be_sent_is_one_line() -> None:
    with pytest.raises(
        ValueError, match=r"sent to a process that prints \(TypeError: cannot pickle '_thread.lock'"
    ) as error:
        list(in_processes(print, [threading.Lock()], 2, "prints"))
    assert "\n" not in str(error.value)


# Its own code runs in no other process, whose functions and classes are those of the script nonetheless.
SCRIPT = """
import os, sys, time
import torch
from threadpoolctl import threadpool_info
from graphpe.processes import in_processes

class Item:
    def __init__(self, number):
        self.number = number

def work(item):
    threads = {torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())}
    time.sleep(300 * (item.number == 2))
    return Item(threads), os.getpid(), sys.modules["__main__"].__file__

print("started")
for item, pid, script in in_processes(work, map(Item, range(7)), 2, "works"):
    print(isinstance(item, Item), item.number, script == __file__, pid, flush=True)
    if sys.argv[1] == "idle":
        time.sleep(300)
"""


@pytest.mark.parametrize(("sent", "when"), [("SIGKILL", "idle"), ("SIGINT", "busy")])
def test_processes_of_a_script_end_with_it(tmp_path: Path, sent: str, when: str) -> None:
    """The script needs no guard, and Ctrl-C, which all processes get, is its own alone."""
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), when],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as script:
        try:
            assert script.stdout.readline() == "started\n"
            lines = [script.stdout.readline() for _ in range(1 if when == "idle" else 2)]
            assert all(line.startswith("True {1} True ") for line in lines), script.stderr.read()
            if sent == "SIGKILL":
                script.kill()
            else:
                os.killpg(script.pid, signal.SIGINT)
            rest, errors = script.communicate(timeout=180)
            until(lambda: not is_group_there(script.pid))
        finally:
            if is_group_there(script.pid):
                os.killpg(script.pid, signal.SIGKILL)
    assert script.returncode == -signal.Signals[sent]
    assert rest == ""
    assert errors.count("KeyboardInterrupt") == (sent == "SIGINT")


def until(condition: Callable[[], bool], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_group_there(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
