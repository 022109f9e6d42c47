"""Tables, figure and record of a suite of kind "expressivity"."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphpe.benchmark.expressivity import Outcome
from graphpe.benchmark.expressivity_suite import Finding
from graphpe.benchmark.plot import new_figure, write_figure
from graphpe.benchmark.run_folder import write_whole
from graphpe.benchmark.tables import markdown_table
from graphpe.data.equivalent_graphs import GraphPair

RULE = (
    "Pairs of graphs to which a network with random parameters gives different outputs. Where these depend on the "
    "numbering of nodes, a difference says nothing."
)
_LETTERS: dict[Outcome, str] = {"separated": "s", "same": "=", "depends on numbering": "n"}
_HARDEST = "3-WL"
_INCHES_PER_LINE = 0.22


@dataclass(frozen=True)
class Outcomes:
    """How many pairs of a group have which outcome.

    Args:
        separated: Pairs that are told apart.
        numbered: Pairs of which the outputs depend on the numbering of nodes.
        total: Pairs of the group.
    """

    separated: int
    numbered: int
    total: int

    def __str__(self) -> str:
        if self.numbered == 0:
            return str(self.separated)
        if self.numbered == self.total:
            return "depends on numbering"
        return f"{self.separated}, {self.numbered} depend on numbering"


def by_group(finding: Finding, pairs: Sequence[GraphPair]) -> dict[str, Outcomes]:
    """The outcomes of a finding, for each group of pairs.

    Args:
        finding: The finding.
        pairs: The pairs that its outcomes are of.
    """
    groups: dict[str, list[Outcome]] = {}
    for pair, outcome in zip(pairs, finding.outcomes, strict=True):
        groups.setdefault(pair.group, []).append(outcome)
    return {
        group: Outcomes(
            outcomes.count("separated"), outcomes.count("depends on numbering"), len(outcomes)
        )
        for group, outcomes in groups.items()
    }


def write_expressivity_report(
    name: str,
    root: Path,
    found: Sequence[Finding],
    pairs: Sequence[GraphPair],
    facts: Mapping[str, Any],
) -> list[Path]:
    """Writes ``results.md``, ``.csv``, ``.json`` and, if matplotlib is installed, ``.svg``.

    Args:
        name: Name of the suite.
        root: Where the files go.
        found: The findings so far, at least one.
        pairs: The pairs that their outcomes are of.
        facts: What the record says beside them: command, circumstances, settings.

    Returns:
        The files.
    """
    root.mkdir(parents=True, exist_ok=True)
    texts = {
        "results.md": f"# {name}\n\n{RULE}\n\n{table(found, pairs)}\n\n{hardest_table(found, pairs)}\n",
        "results.csv": _csv(found, pairs),
        "results.json": record(name, found, pairs, facts),
    }
    for file, text in texts.items():
        write_whole(root / file, text)
    written = [root / file for file in texts]
    try:
        _save_plot(found, pairs, root / "results.svg")
    except ImportError:
        return written
    return [*written, root / "results.svg"]


def table(found: Sequence[Finding], pairs: Sequence[GraphPair]) -> str:
    """A row per encoding and network in Markdown: pairs separated of each group.

    Args:
        found: The findings.
        pairs: The pairs that their outcomes are of.
    """
    groups = by_group(found[0], pairs)
    header = ["network", "encoding", *(f"{name} (of {of.total})" for name, of in groups.items())]
    rows = [
        [finding.network, finding.encoding, *map(str, by_group(finding, pairs).values())]
        for finding in found
    ]
    return markdown_table(header, rows, ["network", "encoding"])


def hardest_table(found: Sequence[Finding], pairs: Sequence[GraphPair]) -> str:
    """A row per pair of the group 3-WL in Markdown: what separates it.

    Args:
        found: The findings.
        pairs: The pairs that their outcomes are of.
    """
    header = [f"{_HARDEST} pair", "separated by"]
    rows = [
        [pair.name, ", ".join(f.encoding for f in found if f.outcomes[number] == "separated")]
        for number, pair in enumerate(pairs)
        if pair.group == _HARDEST
    ]
    return markdown_table(header, [[pair, names or "-"] for pair, names in rows], header)


def record(
    name: str, found: Sequence[Finding], pairs: Sequence[GraphPair], facts: Mapping[str, Any]
) -> str:
    """All findings as JSON; `read_record` reads it.

    Args:
        name: Name of the suite.
        found: The findings.
        pairs: The pairs that their outcomes are of.
        facts: What it says beside them.
    """
    content = {
        "suite": name,
        **facts,
        "letters": {letter: outcome for outcome, letter in _LETTERS.items()},
        "pairs": [{"name": pair.name, "group": pair.group} for pair in pairs],
        "findings": [
            {
                "encoding": finding.encoding,
                "network": finding.network,
                "outcomes": "".join(_LETTERS[outcome] for outcome in finding.outcomes),
                "num_parameters": finding.num_parameters,
                "seconds": round(finding.seconds, 1),
            }
            for finding in found
        ],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False)
    # Objects and lists without others inside are on one line.
    return (
        re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda inner: re.sub(r"\s*\n\s*", " ", inner[0]), text)
        + "\n"
    )


def read_record(content: Mapping[str, Any]) -> list[Finding]:
    """The findings of a record.

    Args:
        content: The record.
    """
    return [
        Finding(
            encoding=entry["encoding"],
            network=entry["network"],
            outcomes=tuple(content["letters"][letter] for letter in entry["outcomes"]),
            num_parameters=entry["num_parameters"],
            seconds=entry["seconds"],
        )
        for entry in content["findings"]
    ]


def _csv(found: Sequence[Finding], pairs: Sequence[GraphPair]) -> str:
    rows = []
    for finding in found:
        row: dict[str, Any] = {"network": finding.network, "encoding": finding.encoding}
        for group, outcomes in by_group(finding, pairs).items():
            row |= {
                f"{group}_separated": outcomes.separated,
                f"{group}_depends_on_numbering": outcomes.numbered,
                f"{group}_pairs": outcomes.total,
            }
        rows.append(row | {"num_parameters": finding.num_parameters, "seconds": finding.seconds})
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _save_plot(found: Sequence[Finding], pairs: Sequence[GraphPair], path: Path) -> None:
    """A panel per group with a bar per encoding: pairs separated, and in grey those that depend on numbering."""
    groups = [by_group(finding, pairs) for finding in found]
    figure = new_figure(9, _INCHES_PER_LINE * len(found) + 1)
    panels = figure.subplots(1, len(groups[0]), sharey=True, squeeze=False)[0]
    places = range(len(found))
    for axes, name in zip(panels, groups[0], strict=True):
        axes.barh(places, [group[name].separated for group in groups], color="C0")
        numbered = [group[name].numbered for group in groups]
        axes.barh(places, numbered, color="0.85", hatch="//", edgecolor="0.6")
        axes.set_xlim(0, groups[0][name].total)
        axes.set_title(f"{name}, {groups[0][name].total} pairs", fontsize="medium", loc="left")
    panels[0].set_yticks(places, [f"{f.encoding}, {f.network}" for f in found], fontsize="small")
    panels[0].set_ylim(len(found) - 0.5, -0.5)  # in the order of the table
    figure.supxlabel("pairs separated; hatched: depends on numbering", fontsize="medium")
    write_figure(figure, path)
