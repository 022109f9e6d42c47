"""`graphpe benchmark`: runs a suite of trainings, and makes its table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import track

from graphpe.benchmark.adopt import adopt_runs
from graphpe.benchmark.expressivity_report import by_group, write_expressivity_report
from graphpe.benchmark.expressivity_suite import Finding, findings, plan_candidates
from graphpe.benchmark.plan import Run, plan_runs
from graphpe.benchmark.progress import SuiteProgress
from graphpe.benchmark.reading import SuiteError, read_yaml
from graphpe.benchmark.report import write_report
from graphpe.benchmark.run_folder import RunFolder
from graphpe.benchmark.runner import Outcome, Runner, circumstances
from graphpe.benchmark.suite import Suite, read_suite
from graphpe.cli.building import build
from graphpe.cli.errors import ConfigError, fail
from graphpe.cli.quiet import quieten
from graphpe.cli.resolving import resolve
from graphpe.data.equivalent_graphs import equivalent_pairs

_DESCRIPTION = (
    "Runs a suite: datasets x encodings x networks x seeds. What is finished is not repeated, and what was interrupted "
    "goes on where it stopped. At the end there are a table (Markdown, CSV), a figure and a record (JSON). The exit "
    "code is 1 if a run failed."
)
_WIDTH_WITHOUT_TERMINAL = 160


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see graphpe benchmark --help")


def run_benchmark(options: list[str]) -> int:
    """Runs a suite.

    Args:
        options: The words after ``graphpe benchmark``.

    Returns:
        The exit code: 0; 1 if a run failed; 2 if the command line or the suite is wrong.
    """
    quieten()
    try:
        return _run(_parse(options))
    except (ConfigError, SuiteError) as error:
        return fail(2, str(error))


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="graphpe benchmark", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("-c", "--config", required=True, metavar="FILE", help="the suite")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/benchmark"), help="where runs go (runs/benchmark)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="run only these: dataset/encoding/network/seed_N or the beginning of it, * fits anything; may be repeated",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=1,
        metavar="N",
        help="runs at a time, with one thread each if more than one (1)",
    )
    parser.add_argument(
        "--data-root",
        type=Path,
        metavar="FOLDER",
        help="where the datasets are: a root data/ogb in a card is FOLDER/ogb",
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing, make the table")
    parser.add_argument(
        "--adopt",
        type=Path,
        metavar="FOLDER",
        help="first take in finished runs of `graphpe fit` in this folder that have the same configuration",
    )
    return parser.parse_args(options)


def _run(arguments: argparse.Namespace) -> int:
    suite = read_suite(arguments.config)
    if suite.kind == "expressivity":
        return _run_expressivity(suite, arguments)
    runs = plan_runs(suite, resolve, arguments.data_root)
    root = arguments.folder / suite.name
    chosen = _chosen(runs, arguments.only)
    _check(chosen)
    if arguments.adopt is not None:
        _adopt(arguments.adopt, root, chosen)
    outcomes: dict[str, Outcome] = {}
    if not arguments.report_only:
        outcomes = _train(chosen, root, arguments.jobs)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL)
    write_report(suite, arguments.config, root, runs, resolve, console)
    return 1 if "failed" in outcomes.values() else 0


def _run_expressivity(suite: Suite, arguments: argparse.Namespace) -> int:
    """Asks which graphs the encodings tell apart; after each, the results so far are written."""
    given = {
        "--only": arguments.only is not None,
        "--jobs": arguments.jobs > 1,
        "--adopt": arguments.adopt is not None,
        "--data-root": arguments.data_root is not None,
        "--report-only": arguments.report_only,
    }
    for option, is_given in given.items():
        if is_given:
            raise ConfigError(
                f"{option} is for trainings; {arguments.config} trains nothing, and is computed anew each time"
            )
    root = arguments.folder / suite.name
    pairs = equivalent_pairs()
    facts = {
        "command": f"graphpe benchmark --config {arguments.config}",
        "circumstances": circumstances(jobs=1),
        "settings": read_yaml(arguments.config, "--config"),
    }
    candidates = plan_candidates(suite, build)
    found: list[Finding] = []
    written: list[Path] = []
    for number, finding in enumerate(findings(candidates, pairs, suite.seeds), start=1):
        found.append(finding)
        groups = by_group(finding, pairs).items()
        results = "; ".join(f"{group} (of {of.total}): {of}" for group, of in groups)
        _say(f"{number}/{len(candidates)} {finding.encoding}/{finding.network}: {results}")
        written = write_expressivity_report(suite.name, root, found, pairs, facts)
    _say(f"written: {', '.join(map(str, written))}")
    return 0


def _chosen(runs: list[Run], patterns: list[str] | None) -> list[Run]:
    if patterns is None:
        return runs
    chosen = [run for run in runs if run.matches(patterns)]
    for pattern in patterns:
        if not any(run.matches([pattern]) for run in runs):
            raise ConfigError(
                f"--only {pattern!r} fits none of the {len(runs)} runs; they are called as {runs[0].name!r} is"
            )
    return chosen


def _check(runs: list[Run]) -> None:
    """Checks the configurations, so that what is wrong is said before anything runs."""
    for run in track(
        {run.combination.name: run for run in runs}.values(),
        "checking configurations",
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ):
        _ = run.combination.config


def _train(runs: list[Run], root: Path, jobs: int) -> dict[str, Outcome]:
    """Runs what isn't finished."""
    missing = [run for run in runs if RunFolder(root, run, resolve).state() != "finished"]
    _say(f"{len(runs)} runs, {len(runs) - len(missing)} finished, {len(missing)} to do")
    if not missing:
        return {}
    try:
        with SuiteProgress(len(missing)) as progress:
            return Runner(root, resolve, jobs, progress.tell).run(missing)
    except KeyboardInterrupt as interruption:
        raise KeyboardInterrupt("interrupted; the same command goes on") from interruption


def _adopt(source: Path, root: Path, runs: list[Run]) -> None:
    """Takes in finished runs, and says what was done with each."""
    for adoption in adopt_runs(source, root, runs, resolve):
        if adoption.reason is None:
            _say(f"adopted {adoption.version} as {adoption.run.name}")
        else:
            _say(f"left {adoption.version}: {adoption.reason}")


def _say(text: str) -> None:
    Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"is {text!r}; it must be an integer >= 1")
    return number
