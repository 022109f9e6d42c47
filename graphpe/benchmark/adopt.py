"""Takes finished runs that `graphpe fit` made elsewhere into a suite."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphpe.benchmark.fingerprint import differences, fingerprint
from graphpe.benchmark.plan import Resolve, Run
from graphpe.benchmark.reading import SuiteError, read_yaml
from graphpe.benchmark.run_folder import RunFolder


@dataclass(frozen=True)
class Adoption:
    """What was done with a folder.

    Args:
        version: The folder.
        run: The run that it is of; None if it is of none.
        reason: Why it was left; None if it was adopted.
    """

    version: Path
    run: Run | None
    reason: str | None


def adopt_runs(source: Path, root: Path, runs: Sequence[Run], resolve: Resolve) -> list[Adoption]:
    """Copies finished runs whose configuration is that of a run of the suite, and that the suite has not yet.

    The configurations, with all defaults, must be the same but for the name, the folders of runs and of the dataset,
    the card's documentation, and what is shown.

    Args:
        source: A folder that holds, at any depth, ``version_<N>`` folders with ``config.yaml`` and ``summary.json``.
        root: ``<folder>/<suite>``.
        runs: The runs of the suite.
        resolve: Reads a configuration.

    Returns:
        What was done with each folder that holds a finished run.

    Raises:
        SuiteError: If there is no finished run in the folder.
    """
    versions = sorted(path.parent for path in source.glob("**/summary.json"))
    if not versions:
        raise SuiteError(f"--adopt: there is no finished run (summary.json) in {str(source)!r}")
    wanted = {fingerprint(run.config): run for run in runs}
    return [_adopt(version, root, wanted, resolve) for version in versions]


def _adopt(version: Path, root: Path, wanted: dict[str, Run], resolve: Resolve) -> Adoption:
    try:
        # Options that graphpe had not yet when the run was made have their defaults.
        config = resolve(read_yaml(version / "config.yaml", "--adopt"))
    except ValueError as error:
        return Adoption(version, None, str(error))
    run = wanted.get(fingerprint(config))
    if run is None:
        return Adoption(version, None, _difference(config, wanted))
    folder = RunFolder(root, run, resolve)
    with folder.lock() as lock:
        if lock is None:
            return Adoption(version, run, "another process is at this run")
        folder.make_room()
        if folder.state() == "finished":
            return Adoption(version, run, "is in the suite already")
        changed = os.path.getmtime(version / "summary.json")
        date = datetime.date.fromtimestamp(changed).isoformat()
        folder.adopt(version, {"date": date, "machine": None, "versions": None, "adopted": True})
    return Adoption(version, run, None)


def _difference(config: dict[str, Any], wanted: dict[str, Run]) -> str:
    """How a configuration differs from the run of the suite that is nearest."""
    found = {run.name: differences(config, run.config) for run in wanted.values()}
    name = min(found, key=lambda name: len(found[name]))
    first = found[name][0]
    more = f" and {len(found[name]) - 1} more" if len(found[name]) > 1 else ""
    return (
        f"is no run of this suite; of {name} it differs in {first.path}, which is {first.old} there and {first.new} in "
        f"the suite{more}"
    )
