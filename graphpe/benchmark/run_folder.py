"""The folder of a run: what is in it, and whether it is the run that the suite asks for."""

from __future__ import annotations

import csv
import fcntl
import itertools
import json
import os
import pickle
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import yaml

from graphpe.benchmark.fingerprint import Difference, differences, fingerprint
from graphpe.benchmark.plan import Resolve, Run

# finished: it has a summary. failed: its last attempt ended with an error. unfinished: neither, it was killed, say.
# changed: what is there is of another configuration. absent: nothing is there.
State = Literal["finished", "failed", "unfinished", "changed", "absent"]


@dataclass(frozen=True)
class Failure:
    """How the last attempt of a run ended.

    Args:
        error: The error, one line.
        exit_code: Of the process; negative if a signal ended it.
        log: File with all that it printed.
    """

    error: str
    exit_code: int
    log: str


class RunFolder:
    """``<folder>/<suite>/<dataset>/<encoding>/<network>/seed_<s>``.

    It holds ``run.yaml``, the configuration that `graphpe fit` is given; ``version_<N>`` for each time that it was
    started or resumed; ``output.txt``, all that it printed; ``circumstances.json``, when and with what it was run; and
    ``failure.json`` if the last attempt failed.

    Args:
        root: ``<folder>/<suite>``.
        run: The run.
        resolve: Reads a configuration, to compare the one that is there with the one that is asked for.
    """

    def __init__(self, root: Path, run: Run, resolve: Resolve) -> None:
        self.path = root / run.name
        self._root, self._run, self._resolve = root, run, resolve

    @property
    def config_path(self) -> Path:
        """The configuration that the run was started with."""
        return self.path / "run.yaml"

    @property
    def log_path(self) -> Path:
        """All that the run has printed."""
        return self.path / "output.txt"

    def config(self) -> dict[str, Any]:
        """The configuration that `graphpe fit` is to be given."""
        config = self._run.config
        config["experiment"]["folder"] = str(self._root)
        return config

    # --- what is there ---------------------------------------------------------------------------------------

    def state(self) -> State:
        """What is there, as far as it is of the configuration that is asked for."""
        if not self.config_path.is_file():
            return "absent"
        if self.changes():
            return "changed"
        if self.finished_version() is not None:
            return "finished"
        return "failed" if self._failure_path.is_file() else "unfinished"

    def changes(self) -> list[Difference]:
        """How the configuration that is there differs from the one that is asked for."""
        there, wanted = self._saved_config(), self.config()
        if fingerprint(there) == fingerprint(wanted):
            return []
        # Of a version of graphpe whose options are no longer there; the differences are shown as they are.
        with suppress(ValueError):
            # Options that graphpe had not yet when the run was made have their defaults.
            there = self._resolve(there)
        return differences(there, wanted)

    def finished_version(self) -> Path | None:
        """The folder of the attempt that came to the end."""
        finished = [path for path in self._versions() if (path / "summary.json").is_file()]
        return finished[-1] if finished else None

    def summary(self) -> dict[str, Any]:
        """The summary of a finished run."""
        return json.loads((self.finished_version() / "summary.json").read_text())

    def failure(self) -> Failure:
        """The failure of a failed run."""
        return Failure(**json.loads(self._failure_path.read_text()))

    def circumstances(self) -> dict[str, Any]:
        """When and with what it was run."""
        return json.loads((self.path / "circumstances.json").read_text())

    def checkpoint(self) -> tuple[Path, int] | None:
        """The checkpoint to go on from and its number of finished epochs; None if there is none that can be read."""
        found = []
        for version in self._versions():
            path = version / "checkpoints" / "last.ckpt"
            try:
                saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
                found.append((saved["epoch"] + 1, path))
            except (OSError, RuntimeError, KeyError, pickle.UnpicklingError):
                continue  # the attempt was ended before its first epoch, or the file is damaged
        return max(found)[::-1] if found else None

    def epochs(self) -> int | None:
        """The number of epochs that were trained, by the curves."""
        epochs = []
        for path in self.path.glob("version_*/metrics.csv"):
            with path.open(newline="") as file:
                epochs += [
                    int(row["epoch"]) for row in csv.DictReader(file) if row.get("train/loss")
                ]
        return max(epochs) + 1 if epochs else None

    # --- changing it -----------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[int | None]:
        """Holds the run for this process and those that inherit the file descriptor; None if another one holds it."""
        path = self.path.with_name(f".{self.path.name}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
                return
            yield descriptor
        finally:
            os.close(descriptor)

    def make_room(self) -> Path | None:
        """Puts a run of another configuration aside, and puts back one of this configuration if it was put aside.

        Returns:
            Where the run that was there is now, if it was put aside.
        """
        aside = None
        if self.state() == "changed":
            aside = self._aside(fingerprint(self._saved_config()))
            self.path.rename(aside)
        earlier = self.path.with_name(f"{self.path.name}.{fingerprint(self.config())}")
        if earlier.is_dir() and not self.path.exists():
            earlier.rename(self.path)
        return aside

    def begin(self, circumstances: Mapping[str, Any]) -> None:
        """Writes what an attempt starts from.

        Args:
            circumstances: When and with what the run is made.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._failure_path.unlink(missing_ok=True)
        write_whole(self.path / "circumstances.json", json.dumps(circumstances, indent=1) + "\n")
        write_whole(self.config_path, yaml.safe_dump(self.config(), sort_keys=False))

    def record_failure(self, failure: Failure) -> None:
        """Writes down how an attempt failed."""
        write_whole(self._failure_path, json.dumps(vars(failure), indent=1) + "\n")

    def adopt(self, version: Path, circumstances: Mapping[str, Any]) -> None:
        """Takes in a finished run that was made elsewhere, whose configuration is the one that is asked for.

        Args:
            version: Its folder, with ``summary.json``.
            circumstances: When and with what it was made.
        """
        self.begin(circumstances)
        new = self.path / f"version_{len(self._versions())}"
        unfinished = new.with_name("adopting")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(version, unfinished)
        summary = json.loads((unfinished / "summary.json").read_text())
        for key, value in summary.items():
            if isinstance(value, str) and value.startswith(summary["folder"]) and key != "folder":
                summary[key] = str(new) + value.removeprefix(summary["folder"])
        summary["folder"], summary["name"] = str(new), self._run.name
        write_whole(unfinished / "summary.json", json.dumps(summary, indent=2) + "\n")
        unfinished.rename(new)

    def _aside(self, name: str) -> Path:
        """A free name beside the folder."""
        names = itertools.chain([name], (f"{name}.{number}" for number in itertools.count(1)))
        places = (self.path.with_name(f"{self.path.name}.{free}") for free in names)
        return next(place for place in places if not place.exists())

    @property
    def _failure_path(self) -> Path:
        return self.path / "failure.json"

    def _saved_config(self) -> dict[str, Any]:
        return yaml.safe_load(self.config_path.read_text())

    def _versions(self) -> list[Path]:
        """The folders of its attempts, in their order."""
        versions = self.path.glob("version_*")
        return sorted(versions, key=lambda path: int(path.name.removeprefix("version_")))


def write_whole(path: Path, text: str) -> None:
    """Writes a file that appears once it is complete."""
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(text)
    os.replace(unfinished, path)
