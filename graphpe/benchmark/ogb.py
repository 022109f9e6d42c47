"""What the rules of OGB's leaderboards ask for, and submission files where OGB has them."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphpe.benchmark.results import Result, Row
from graphpe.benchmark.tables import spread_text
from graphpe.data.ogb_import import import_ogb

_SEEDS = range(10)
_PCQM4MV2 = "pcqm4m-v2"
# Numbers of molecules in the parts whose targets are hidden.
_MOLECULES = {147_037: "test-dev", 147_432: "test-challenge"}


def ogb_name(row: Row) -> str | None:
    """The name of the row's dataset in OGB; None if it is no dataset of OGB."""
    source = row.combination.config["data"]["dataset"]
    class_name = source["class_path"].rpartition(".")[2]
    if class_name.startswith("PCQM4Mv2"):
        return _PCQM4MV2
    name = source["init_args"].get("name", "")
    return name if class_name.startswith("OGB") and name.startswith("ogb") else None


def leaderboard_report(rows: Sequence[Row]) -> str:
    """The figures that the leaderboards ask for, and what is missing of them, in Markdown; "" without OGB datasets.

    The rules: mean and unbiased standard deviation of the validation and the test metric over ten seeds, 0 to 9 or
    not fixed, the number of parameters, the hardware, and the tuned settings with their ranges.

    Args:
        rows: The results.
    """
    parts = [_entry(row) for row in rows if ogb_name(row) is not None and row.finished]
    if not parts:
        return ""
    title = "# For OGB's leaderboards"
    rest = (
        "To be added by hand: contact, code, paper, and the settings that were tuned, with their ranges and the part "
        "of the data that they were chosen on, which must be validation."
    )
    return "\n\n".join([title, *parts, rest]) + "\n"


def _entry(row: Row) -> str:
    name = ogb_name(row)
    seeds = [result.run.seed for result in row.finished if result.test is not None]
    lines = [
        f"## {row.combination.dataset}: {row.combination.network}, {row.combination.encoding}",
        f"- dataset: {name}, metric: {row.metric}",
        f"- test: {spread_text(row.spread('test'), 4)}",
        f"- validation: {spread_text(row.spread('valid'), 4)}",
        f"- parameters: {row.num_parameters:,}",
        f"- hardware: {_hardware(row.finished)}",
        f"- seeds: {', '.join(map(str, seeds)) or 'none'}",
        f"- missing: {_missing(seeds)}",
        f"- submission file: {_submissions(name, row.finished)}",
    ]
    return "\n".join(lines)


def _missing(seeds: Sequence[int]) -> str:
    absent = [seed for seed in _SEEDS if seed not in seeds]
    if not absent:
        return "nothing"
    return f"the rules ask for the ten seeds 0 to 9; add the seeds {', '.join(map(str, absent))}"


def _hardware(results: Sequence[Result]) -> str:
    machines = dict.fromkeys(_machine(result.circumstances.get("machine")) for result in results)
    return "; ".join(machines)


def _machine(machine: dict[str, Any] | None) -> str:
    if not machine:
        return "not recorded"
    accelerator = machine.get("accelerator")
    if accelerator:
        return accelerator
    return f"CPU, {machine['cores']} cores ({machine['processor']})"


def _submissions(name: str, results: Sequence[Result]) -> str:
    if name != _PCQM4MV2:
        return f"OGB has none for {name}; its leaderboard takes the figures above"
    try:
        return ", ".join(write_submission(result.version) for result in results)
    except ValueError as error:
        return f"none, because {error}"


def write_submission(version: Path) -> str:
    """Writes the file that OGB takes for PCQM4Mv2, ``y_pred_pcqm4m-v2_<part>.npz``, float32, beside the predictions.

    Args:
        version: A folder with ``predictions.csv`` of a hidden part, test-dev or test-challenge, all of it. Molecules
            are written in the order of their numbers, as OGB's split has them.

    Returns:
        The path of the file.

    Raises:
        ValueError: If the predictions are not those of one of these parts, or are not finite, or RDKit is missing.
    """
    import_ogb()
    try:
        from ogb.lsc.pcqm4mv2 import PCQM4Mv2Evaluator
    except ImportError as error:
        raise ValueError(
            "OGB's evaluator of PCQM4Mv2 needs RDKit; install it with: pip install 'graphpe[chem]'"
        ) from error
    with (version / "predictions.csv").open(newline="") as file:
        by_molecule = {
            int(row["graph"]): float(row["prediction_0"]) for row in csv.DictReader(file)
        }
    prediction = np.array([by_molecule[graph] for graph in sorted(by_molecule)], dtype=np.float32)
    if len(prediction) not in _MOLECULES:
        sizes = " or ".join(f"{size:,} ({part})" for size, part in _MOLECULES.items())
        raise ValueError(
            f"{version / 'predictions.csv'} has predictions for {len(prediction):,} molecules; a submission has {sizes}"
        )
    if not np.isfinite(prediction).all():
        raise ValueError(f"{version / 'predictions.csv'} has predictions that are not finite")
    part = _MOLECULES[len(prediction)]
    with tempfile.TemporaryDirectory(dir=version) as folder:
        PCQM4Mv2Evaluator().save_test_submission({"y_pred": prediction}, folder, part)
        (unfinished,) = Path(folder).iterdir()
        finished = version / unfinished.name
        unfinished.replace(finished)
    return str(finished)
