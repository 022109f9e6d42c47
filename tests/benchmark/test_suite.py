"""A suite is read as it is written, or refused in one line that says where and what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphpe.benchmark import SuiteError, read_suite


def test_a_suite_is_read(suite_content: dict[str, Any], write_suite: Callable) -> None:
    suite = read_suite(write_suite(suite_content))
    assert suite.name == "small"
    assert list(suite.datasets) == ["esol"]  # of the card's file
    assert suite.datasets["esol"].card["task"]["metric"] == "rmse"
    assert [entry.name for entry in suite.encodings.values()] == ["none", "RWSE"]
    assert suite.networks["GINE"].class_path == "GINE"
    assert suite.seeds == (0, 1, 2)
    (entry,) = suite.grid
    assert (entry.datasets, entry.encodings, entry.networks) == (
        ("esol",),
        ("none", "RWSE"),
        ("GINE",),
    )


def test_parts_may_be_files_or_written_in_place(
    suite_content: dict[str, Any], write_suite: Callable, tmp_path: Path
) -> None:
    wanted = read_suite(write_suite(suite_content))
    for kind in ("encodings", "networks"):
        for name, value in suite_content[kind].items():
            path = tmp_path / f"{name}.yaml"
            path.write_text(yaml.safe_dump(value))
            suite_content[kind][name] = str(path)
    card = yaml.safe_load(Path(suite_content["datasets"][0]).read_text())
    suite_content["datasets"] = [{"name": "esol", "card": card}]
    assert read_suite(write_suite(suite_content)) == wanted


def _changed(content: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for key in parents:
        content = content[key]
    content[last] = value


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("seed", [0], "suite.yaml: no key 'seed'; did you mean 'seeds'? valid: name, datasets"),
        ("name", "a/b", "name: 'a/b' is no name"),
        ("name", "..", "name: '..' is no name"),
        ("seeds", [], "give at least one seed"),
        ("seeds", [1, 1], "each once"),
        ("seeds", [True], "seeds has True"),
        ("seeds", [-1], "seeds has -1"),
        ("seeds", 3, "seeds is 3; it must be a list"),
        ("datasets", [], "datasets is empty"),
        ("datasets", ["no/card.yaml"], "datasets[0].card: can't read 'no/card.yaml'"),
        ("datasets", [{"name": "x"}], "datasets[0] has no card"),
        ("datasets", [{"card": {"task": {}}}], "datasets[0] has no name"),
        ("datasets", [{"card": {}, "name": "x"}] * 2, "datasets[1]: there are two datasets 'x'"),
        ("datasets", [{"card": {}, "name": "x", "setting": {}}], "did you mean 'settings'?"),
        ("encodings", {}, "encodings is empty"),
        ("encodings.RWSE", [], "encodings.RWSE is []; it must be a mapping"),
        (
            "encodings.RWSE.encoder",
            [],
            "encodings.RWSE: no key 'encoder'; did you mean 'encoders'?",
        ),
        ("encodings.RWSE.encoders", ["SPE"], "encodings.RWSE.encoders[0] is 'SPE'; it must be a"),
        ("encodings.RWSE.encoders", [{}], "encodings.RWSE.encoders[0] has no class_path"),
        ("networks.GINE", {"init_args": {}}, "networks.GINE has no class_path"),
        ("networks.GINE.init_args", [1], "networks.GINE.init_args is [1]; it must be a mapping"),
        ("networks", {"a b": {}}, "networks: 'a b' is no name"),
        ("settings", [1], "settings is [1]; it must be a mapping"),
        ("grid", [], "grid is empty"),
        ("grid", [{"encodings": ["RWS"]}], "grid[0].encodings: no 'RWS'; did you mean 'RWSE'?"),
        ("grid", [{"encoding": ["none"]}], "grid[0]: no key 'encoding'; did you mean 'encodings'?"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    suite_content: dict[str, Any], write_suite: Callable, path: str, value: Any, wanted: str
) -> None:
    _changed(suite_content, path, value)
    with pytest.raises(SuiteError) as caught:
        read_suite(write_suite(suite_content))
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["name", "datasets", "encodings", "networks", "seeds"])
def test_what_is_missing_is_named(
    suite_content: dict[str, Any], write_suite: Callable, key: str
) -> None:
    del suite_content[key]
    with pytest.raises(SuiteError, match=f"has no '{key}'"):
        read_suite(write_suite(suite_content))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name: x\nencodings: {a: {}, a: {}}", "'a' is given twice, again in line 2"),
        ("no: {}", "the key False, which YAML doesn't read as a text"),
        ("a: [", "is not valid YAML"),
        ("- 1", "it must be a mapping"),
        ("", "it must be a mapping"),
        ("? [1]\n: 2", "is not valid YAML"),
    ],
)
def test_yaml_that_would_be_misread_is_refused(tmp_path: Path, text: str, wanted: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    with pytest.raises(SuiteError) as caught:
        read_suite(path)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"--config: can't read .*No such file"):
        read_suite(tmp_path / "absent.yaml")
