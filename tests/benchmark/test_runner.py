"""What a training that ended says, and which signals end a suite."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from graphpe.benchmark.runner import _error, _signals_interrupt, circumstances


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_come_as_ctrl_c_and_their_handlers_are_put_back(number: signal.Signals) -> None:
    if number == signal.SIGINT:  # a shell lets what it starts in the background ignore it
        signal.signal(number, signal.default_int_handler)
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), _signals_interrupt():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("exit_code", "log", "wanted"),
    [
        (1, "epoch 1\ngraphpe: error: no data\n", "no data"),
        (
            1,
            "graphpe: error: earlier\nTraceback\n  File x\nRuntimeError: boom\n",
            "RuntimeError: boom",
        ),
        (-9, "epoch 1\n", "was ended by SIGKILL, as the system does when memory runs out"),
        (-11, "", "was ended by SIGSEGV"),
        (1, "$ graphpe fit\n", "$ graphpe fit"),
    ],
)
def test_the_error_of_a_training(tmp_path: Path, exit_code: int, log: str, wanted: str) -> None:
    path = tmp_path / "output.txt"
    path.write_text(log)
    assert _error(exit_code, path) == wanted


def test_circumstances_have_no_paths() -> None:
    found = circumstances(jobs=3)
    assert found["machine"]["runs_at_a_time"] == 3
    assert set(found["versions"]) == {"graphpe", "python", "torch", "torch_geometric", "lightning"}
    assert "/" not in str(found)
