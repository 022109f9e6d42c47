"""Runs what is missing of a suite, several runs at a time, each in a process of its own."""

from __future__ import annotations

import datetime
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import lightning
import torch
import torch_geometric

import graphpe
from graphpe.benchmark.plan import Resolve, Run
from graphpe.benchmark.run_folder import Failure, RunFolder

# busy: another process is at it.
Outcome = Literal["finished", "failed", "busy", "interrupted"]

_SECONDS_TO_END = 30.0  # that an interrupted run has
_SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Event:
    """Something that happened to a run.

    Args:
        run: The run.
        kind: ``"begin"``, ``"note"``, or how it ended.
        text: What to say about it.
    """

    run: Run
    kind: Literal["begin", "note"] | Outcome
    text: str = ""


def circumstances(jobs: int) -> dict[str, Any]:
    """When, where and with what runs are made.

    Args:
        jobs: How many runs go on at a time.
    """
    return {
        "date": datetime.date.today().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            "runs_at_a_time": jobs,
        },
        "versions": {
            "graphpe": graphpe.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torch_geometric": torch_geometric.__version__,
            "lightning": lightning.__version__,
        },
    }


class Runner:
    """Runs trainings of a suite.

    Args:
        root: ``<folder>/<suite>``.
        resolve: Reads a configuration.
        jobs: How many runs go on at a time. With more than one, each has one thread.
        tell: Is called, in the main thread, with each thing that happens.
    """

    def __init__(
        self, root: Path, resolve: Resolve, jobs: int, tell: Callable[[Event], None]
    ) -> None:
        self._root, self._resolve, self._jobs, self._tell = root, resolve, jobs, tell
        self._events: list[Event] = []
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._is_stopped = False

    def run(self, runs: Sequence[Run]) -> dict[str, Outcome]:
        """Runs, and returns how each ended, by name.

        Args:
            runs: The runs that aren't finished.

        Raises:
            KeyboardInterrupt: If Ctrl-C, SIGTERM or SIGHUP came; the trainings have been ended by then.
        """
        with _signals_interrupt(), ThreadPoolExecutor(self._jobs) as pool:
            futures = {pool.submit(self._attempt, run): run for run in runs}
            try:
                self._watch(futures)
            except KeyboardInterrupt:
                self._stop(futures)
                raise
        return {run.name: future.result() for future, run in futures.items()}

    def _watch(self, futures: dict[Future[Outcome], Run]) -> None:
        pending = set(futures)
        while pending:
            done, pending = wait(pending, _SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            self._tell_events()
            for future in done:
                future.result()  # an error of this program itself ends it

    def _tell_events(self) -> None:
        with self._guard:
            events, self._events = self._events, []
        for event in events:
            self._tell(event)

    def _stop(self, futures: dict[Future[Outcome], Run]) -> None:
        """Lets the trainings end as Ctrl-C lets them; those that take too long, or at a second Ctrl-C, are killed."""
        with self._guard:
            self._is_stopped = True
            processes = set(self._processes)
        for future in futures:
            future.cancel()
        for process in processes:
            process.send_signal(signal.SIGINT)
        try:
            for process in processes:
                process.wait(_SECONDS_TO_END)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            for process in processes:
                process.kill()
        self._tell_events()

    # --- one run, in a thread of its own ---------------------------------------------------------------------

    def _attempt(self, run: Run) -> Outcome:
        folder = RunFolder(self._root, run, self._resolve)
        with folder.lock() as lock:
            if lock is None:
                return self._end(run, "busy", "another process is at it")
            changes = folder.changes() if folder.state() == "changed" else []
            aside = folder.make_room()
            if aside is not None:
                first, more = (
                    changes[0],
                    f" and {len(changes) - 1} more" if len(changes) > 1 else "",
                )
                self._say(
                    run,
                    "note",
                    f"{first.path} was {first.old} and is {first.new}{more}; the earlier run is in {aside}",
                )
            if folder.state() == "finished":  # put back, or made by another process meanwhile
                return self._end(run, "finished", _result(folder))
            checkpoint = self._checkpoint(run, folder)
            folder.begin(circumstances(self._jobs))
            self._say(run, "begin")
            exit_code = self._train(folder, checkpoint, lock)
        if self._is_stopped:
            return self._end(run, "interrupted")
        if exit_code == 0 and folder.finished_version() is not None:
            return self._end(run, "finished", _result(folder))
        failure = Failure(_error(exit_code, folder.log_path), exit_code, folder.log_path.name)
        folder.record_failure(failure)
        return self._end(run, "failed", failure.error)

    def _checkpoint(self, run: Run, folder: RunFolder) -> Path | None:
        """The checkpoint to go on from."""
        found = folder.checkpoint()
        if found is None:
            return None
        path, epochs = found
        if epochs >= (folder.config()["trainer"]["max_epochs"] or 0) > 0:
            # It was ended between its last epoch and its test; there is nothing to go on with.
            self._say(run, "note", "was trained but not tested; it is trained again")
            return None
        self._say(run, "note", f"goes on after epoch {epochs}")
        return path

    def _train(self, folder: RunFolder, checkpoint: Path | None, lock: int) -> int:
        words = [sys.executable, "-m", "graphpe.cli", "fit", "--config", str(folder.config_path)]
        if checkpoint is not None:
            words += ["--ckpt_path", str(checkpoint)]
        environment = dict(os.environ)
        if self._jobs > 1:
            words += ["--experiment.threads", "1"]
            environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        with folder.log_path.open("ab") as log:
            log.write(f"$ graphpe {' '.join(words[3:])}\n".encode())
            log.flush()
            with self._guard:
                if self._is_stopped:
                    return -signal.SIGINT
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,  # Ctrl-C comes to this process alone, which passes it on
                    pass_fds=[
                        lock
                    ],  # if this process is killed, the run is held until the training ends
                )
                self._processes.add(process)
        exit_code = process.wait()
        with self._guard:
            self._processes.discard(process)
        return exit_code

    def _say(self, run: Run, kind: Literal["begin", "note"] | Outcome, text: str = "") -> None:
        with self._guard:
            self._events.append(Event(run, kind, text))

    def _end(self, run: Run, outcome: Outcome, text: str = "") -> Outcome:
        self._say(run, outcome, text)
        return outcome


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Makes the signals that end a program come as Ctrl-C does."""

    def interrupt(number: int, _: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _result(folder: RunFolder) -> str:
    summary = folder.summary()
    metric = summary["metric"]
    test, valid = (
        "-" if summary[part] is None else f"{summary[part]:.4f}" for part in ("test", "valid")
    )
    return f"test {metric} {test}, valid {valid}, {summary['training_seconds']:.0f} s"


def _error(exit_code: int, log: Path) -> str:
    """Why a training failed, in a line: the error that it printed last."""
    if exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    prefix = "graphpe: error: "
    own = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    return own[-1] if own and lines[-1].endswith(own[-1]) else lines[-1]
