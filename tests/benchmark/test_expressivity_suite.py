"""Suites of kind "expressivity": what is built and asked, and what is written of it."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphpe.benchmark import SuiteError, read_suite
from graphpe.benchmark.expressivity_report import (
    by_group,
    hardest_table,
    read_record,
    record,
    table,
    write_expressivity_report,
)
from graphpe.benchmark.expressivity_suite import Finding, compose, findings, plan_candidates
from graphpe.cli.building import build
from graphpe.data.equivalent_graphs import GraphPair, equivalent_pairs

RWSE = {
    "transforms": [{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 8}}],
    "encoders": [{"class_path": "NodeEncoder", "init_args": {"in_channels": 8}}],
}
SIGNS = {
    "transforms": [{"class_path": "AddLaplacianEigenvectorPE", "init_args": {"k": 4}}],
    "encoders": [{"class_path": "EigenvectorEncoder", "init_args": {"k": 4}}],
}
FACTS = {"command": "a command", "settings": {"name": "pairs"}}


@pytest.fixture
def content() -> dict[str, Any]:
    """What the file of a suite holds."""
    network = {"hidden_channels": 8, "num_layers": 3, "norm": "none", "readout": "sum"}
    return {
        "name": "pairs",
        "kind": "expressivity",
        "encodings": {"none": {}, "RWSE": RWSE, "LapPE": SIGNS},
        "networks": {"GINE": {"class_path": "GINE", "init_args": network}},
        "seeds": [0, 1],
    }


@pytest.fixture(scope="module")
def pairs() -> list[GraphPair]:
    """One of each group."""
    return list({pair.group: pair for pair in equivalent_pairs()}.values())


@pytest.fixture
def found(content: dict, write_suite: Callable, pairs: list[GraphPair]) -> list[Finding]:
    suite = read_suite(write_suite(content))
    return list(findings(plan_candidates(suite, build), pairs, suite.seeds))


def test_what_each_encoding_tells_apart(found: list[Finding], pairs: list[GraphPair]) -> None:
    assert [pair.group for pair in pairs] == ["1-WL", "CSL", "3-WL"]
    assert {(f.encoding, f.network): f.outcomes for f in found} == {
        ("none", "GINE"): ("same", "same", "same"),
        ("RWSE", "GINE"): ("separated", "separated", "same"),
        ("LapPE", "GINE"): ("depends on numbering",) * 3,
    }
    assert all(finding.num_parameters > 0 and finding.seconds > 0 for finding in found)


def test_encodings_are_in_float64_and_each_network_is_new(
    content: dict, write_suite: Callable
) -> None:
    suite = read_suite(write_suite(content))
    composed = compose(suite, "RWSE", "GINE")
    assert composed["encodings"][0]["init_args"] == {"walk_length": 8, "dtype": "float64"}
    (encoder,) = composed["network"]["init_args"]["positional_encoders"]
    assert encoder["init_args"] == {"in_channels": 8, "out_channels": 8}
    assert suite.encodings["RWSE"].transforms[0]["init_args"] == {"walk_length": 8}  # as it was
    encodings, make = build(composed)
    assert [field.dtype for encoding in encodings for field in encoding.fields()] == [torch.float64]
    first, second = (next(make().parameters()) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("kind", "expresivity", "kind is 'expresivity'; did you mean 'expressivity'?"),
        ("kind", [], "kind is []"),
        ("datasets", ["datasets/zinc.yaml"], "of kind 'expressivity': no key 'datasets'"),
        ("settings", {"trainer": {}}, "of kind 'expressivity': no key 'settings'"),
        ("encodings.RWSE.settings", {"trainer": {"max_epochs": 1}}, "encodings.RWSE has settings"),
        ("networks.GINE.settings", {"model": {"lr": 1.0}}, "networks.GINE has settings"),
        ("grid", [{"settings": {"model": {"lr": 1.0}}}], "grid[0] has settings"),
        ("grid", [{"encodings": ["RWSE"]}, {}], "grid[1]: RWSE/GINE is given twice"),
        (
            "encodings.RWSE.transforms",
            [],
            "RWSE/GINE: NodeEncoder needs the field 'random_walk_pe'",
        ),
        ("networks.GINE.init_args.norm", "batsh", "none/GINE: network.init_args.norm"),
        ("networks.GINE.init_args.level", "node", "none/GINE: networks.GINE has level"),
        ("encodings.LapPE.transforms", [{"class_path": "AddRandomWalkPE"}], "LapPE/GINE: "),
        (
            "networks.GINE.class_path",
            "GIN",
            "none/GINE: network.class_path: no class 'GIN'; did you",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    content: dict, write_suite: Callable, path: str, value: Any, wanted: str
) -> None:
    *parents, last = path.split(".")
    place = content = copy.deepcopy(content)
    for key in parents:
        place = place[key]
    place[last] = value
    with pytest.raises(SuiteError) as caught:
        plan_candidates(read_suite(write_suite(content)), build)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_difference_that_is_neither_names_the_combination(
    content: dict, write_suite: Callable, pairs: list[GraphPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unclear(*_: Any) -> None:
        raise RuntimeError("neither rounding nor a clear difference")

    monkeypatch.setattr("graphpe.benchmark.expressivity_suite.separations", unclear)
    candidates = plan_candidates(read_suite(write_suite(content)), build)
    with pytest.raises(SuiteError, match="none/GINE: neither rounding nor a clear"):
        list(findings(candidates, pairs, [0]))


def _finding(name: str, *outcomes: Any) -> Finding:
    return Finding(name, "GINE", outcomes, num_parameters=1234, seconds=0.25)


def test_the_tables_count_pairs(pairs: list[GraphPair]) -> None:
    pairs = [*pairs, pairs[0]]
    some = _finding("RWSE", "separated", "separated", "same", "same")
    signs = _finding("LapPE", *["depends on numbering"] * 4)
    mixed = _finding("mixed", "separated", "same", "separated", "depends on numbering")
    assert table([some, signs, mixed], pairs).splitlines() == [
        "| network | encoding | 1-WL (of 2) | CSL (of 1) | 3-WL (of 1) |",
        "| --- | --- | --: | --: | --: |",
        "| GINE | RWSE | 1 | 1 | 0 |",
        "| GINE | LapPE | depends on numbering | depends on numbering | depends on numbering |",
        "| GINE | mixed | 1, 1 depend on numbering | 0 | 1 |",
    ]
    assert hardest_table([some, mixed], pairs).splitlines()[2:] == [f"| {pairs[2].name} | mixed |"]
    assert hardest_table([some], pairs).splitlines()[2:] == [f"| {pairs[2].name} | - |"]
    counts = by_group(mixed, pairs)["1-WL"]
    assert (counts.separated, counts.numbered, counts.total) == (1, 1, 2)


def test_a_record_gives_its_findings_back(pairs: list[GraphPair]) -> None:
    found = [_finding("RWSE", "separated", "same", "depends on numbering")]
    content = json.loads(record("pairs", found, pairs, FACTS))
    assert content["command"] == "a command"
    assert content["findings"][0]["outcomes"] == "s=n"
    assert [entry["name"] for entry in content["pairs"]] == [pair.name for pair in pairs]
    (back,) = read_record(content)
    assert back.outcomes == found[0].outcomes


def test_files_are_written(tmp_path: Path, pairs: list[GraphPair]) -> None:
    found = [_finding("RWSE", "separated", "same", "depends on numbering")]
    written = write_expressivity_report("pairs", tmp_path / "a" / "b", found, pairs, FACTS)
    names = ["results.md", "results.csv", "results.json", "results.svg"]
    assert [path.name for path in written] == names
    texts = [path.read_text() for path in written]
    assert table(found, pairs) in texts[0]
    (row,) = csv.DictReader(io.StringIO(texts[1]))
    assert (row["1-WL_separated"], row["3-WL_depends_on_numbering"]) == ("1", "1")
    assert "RWSE" in texts[3]
    write_expressivity_report("pairs", tmp_path / "a" / "b", found, pairs, FACTS)
    assert [path.read_text() for path in written] == texts
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(names)
