"""Every combination with every seed, each with the configuration that the suite describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmark_resolve import resolve

from graphpe.benchmark import Run, SuiteError, plan_runs, read_suite
from graphpe.benchmark.plan import compose


def _composed(suite_content: dict[str, Any], write_suite: Callable, encoding: str) -> dict:
    suite = read_suite(write_suite(suite_content))
    return compose(suite, suite.grid[0], "esol", encoding, "GINE")


def test_all_combinations_come_with_the_first_seed_first(runs: list[Run]) -> None:
    assert [run.name for run in runs] == [
        f"esol/{encoding}/GINE/seed_{seed}" for seed in (0, 1, 2) for encoding in ("none", "RWSE")
    ]
    assert [run.config["seed_everything"] for run in runs] == [0, 0, 1, 1, 2, 2]
    assert runs[3].config["experiment"]["name"] == "esol/RWSE/GINE/seed_1"
    assert runs[3].config["model"]["lr"] == 0.001  # a default


def test_transforms_and_encoders_are_put_in_their_places(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    config = _composed(suite_content, write_suite, "RWSE")
    assert config["data"]["encodings"] == suite_content["encodings"]["RWSE"]["transforms"]
    assert config["model"]["network"] == {
        "class_path": "GINE",
        "init_args": {
            "hidden_channels": 8,
            "positional_encoders": [
                {"class_path": "NodeEncoder", "init_args": {"in_channels": 4, "out_channels": 8}}
            ],
        },
    }
    none = _composed(suite_content, write_suite, "none")
    assert "encodings" not in none["data"]
    assert "positional_encoders" not in none["model"]["network"]["init_args"]


def test_later_settings_replace_earlier_ones(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    """Card, suite, dataset, encoding, network, grid."""
    places = [
        (suite_content, 1),
        (suite_content["datasets"], 2),
        (suite_content["encodings"]["RWSE"], 3),
        (suite_content["networks"]["GINE"], 4),
    ]
    suite_content["datasets"] = [{"card": suite_content["datasets"][0]}]
    places[1] = (suite_content["datasets"][0], 2)
    suite_content["grid"] = [{"encodings": ["RWSE"]}]
    places.append((suite_content["grid"][0], 5))
    for place, number in places:
        # Each sets its own key and all later ones.
        place["settings"] = {
            "model": {"lr": number, **{f"from_{later}": number for later in range(number, 6)}}
        }
    model = _composed(suite_content, write_suite, "RWSE")["model"]
    assert {key: value for key, value in model.items() if key != "network"} == {
        "lr": 5,
        **{f"from_{number}": number for number in range(1, 6)},
    }


def test_settings_reach_into_the_network_and_replace_the_cards(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    suite_content["grid"] = [
        {
            "settings": {
                "model": {"network": {"init_args": {"hidden_channels": 16}}},
                "task": {"metric": "mae"},
            }
        }
    ]
    config = _composed(suite_content, write_suite, "RWSE")
    network = config["model"]["network"]["init_args"]
    assert network["hidden_channels"] == 16
    assert network["positional_encoders"][0]["init_args"]["out_channels"] == 16
    assert config["task"]["metric"] == "mae"
    assert config["task"]["kind"] == "regression"


def test_a_dataset_may_have_encodings_of_its_own(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    degree = {"class_path": "AddDegreeSE", "init_args": {"max_degree": 4}}
    embedding = {"class_path": "EmbeddingEncoder", "init_args": {"columns": 2, "categories": 5}}
    suite_content["datasets"] = [
        {"card": suite_content["datasets"][0], "transforms": [degree], "encoders": [embedding]}
    ]
    names = {}
    for encoding in ("none", "RWSE"):
        config = _composed(suite_content, write_suite, encoding)
        encoders = config["model"]["network"]["init_args"]["positional_encoders"]
        names[encoding] = [entry["class_path"] for entry in config["data"]["encodings"] + encoders]
    assert names == {
        "none": ["AddDegreeSE", "EmbeddingEncoder"],
        "RWSE": ["AddDegreeSE", "AddRandomWalkPE", "EmbeddingEncoder", "NodeEncoder"],
    }


def test_width_of_encoders(suite_content: dict[str, Any], write_suite: Callable) -> None:
    suite_content["encodings"]["RWSE"]["encoders"] = [
        {"class_path": "graphpe.nn.RotaryEncoder", "init_args": {"in_channels": 4}},
        {"class_path": "NodeEncoder", "init_args": {"in_channels": 4, "out_channels": 3}},
        {"class_path": "EigenvectorEncoder"},
    ]
    config = _composed(suite_content, write_suite, "RWSE")
    encoders = config["model"]["network"]["init_args"]["positional_encoders"]
    assert [encoder["init_args"]["out_channels"] for encoder in encoders] == [4, 3, 8]
    del suite_content["networks"]["GINE"]["init_args"]
    with pytest.raises(SuiteError, match=r"encodings\.RWSE: graphpe\.nn\.RotaryEncoder has no out"):
        _composed(suite_content, write_suite, "RWSE")


def test_combinations_do_not_share_values(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    suite_content["networks"]["wide"] = {"class_path": "GINE", "init_args": {"hidden_channels": 32}}
    suite = read_suite(write_suite(suite_content))
    widths = [
        compose(suite, suite.grid[0], "esol", "RWSE", network)["model"]["network"]["init_args"][
            "positional_encoders"
        ][0]["init_args"]["out_channels"]
        for network in ("GINE", "wide")
    ]
    assert widths == [8, 32]


def test_only_combinations_of_the_grid_are_run(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    suite_content["grid"] = [{"encodings": ["none"]}]
    suite = read_suite(write_suite(suite_content))
    assert {run.combination.encoding for run in plan_runs(suite, dict)} == {"none"}
    suite_content["grid"] = [{"encodings": ["none"]}, {}]
    with pytest.raises(SuiteError, match=r"grid\[1\]: esol/none/GINE is given twice"):
        plan_runs(read_suite(write_suite(suite_content)), dict)


def test_a_refused_configuration_is_named(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    def refuse(_: Mapping[str, Any]) -> dict[str, Any]:
        raise ValueError("model.lr is 0")

    run, *_ = plan_runs(read_suite(write_suite(suite_content)), refuse)
    with pytest.raises(SuiteError, match=r"esol/none/GINE: model\.lr is 0"):
        _ = run.config


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("esol", 6),
        ("es", 0),
        ("es*", 6),
        ("*/RWSE", 3),
        ("esol/RWSE/GINE/seed_1", 1),
        ("*/seed_1", 2),
        ("esol/*/GINE", 6),
        ("RWSE", 0),
    ],
)
def test_patterns(runs: list[Run], pattern: str, number: int) -> None:
    assert sum(run.matches([pattern]) for run in runs) == number


def test_settings_may_name_another_class(
    suite_content: dict[str, Any], write_suite: Callable
) -> None:
    """Which has none of the arguments of the one in the card; the same class keeps them."""
    card = suite_content["datasets"][0]

    def dataset(value: dict[str, Any]) -> dict[str, Any]:
        settings = {"data": {"dataset": value}}
        suite_content["datasets"] = [{"card": card, "settings": settings}]
        return _composed(suite_content, write_suite, "none")["data"]["dataset"]

    same = dataset({"class_path": "OGBSource", "init_args": {"root": "elsewhere"}})
    assert same["init_args"] == {"name": "ogbg-molesol", "root": "elsewhere"}
    other = {"class_path": "ZINCSource", "init_args": {"root": "elsewhere"}}
    assert dataset(other) == other


def test_datasets_may_be_elsewhere(suite_content: dict[str, Any], write_suite: Callable) -> None:
    """Roots in ``data`` move, also that of a source which another one takes from; others don't."""
    card = suite_content["datasets"][0]
    inner = {"class_path": "OGBSource", "init_args": {"name": "ogbg-molesol", "root": "data"}}
    split = {"class_path": "SizeSplit", "init_args": {"small_fraction": 0.5, "source": inner}}
    kept = {"init_args": {"root": "datasets/bundled"}}
    suite_content["datasets"] = [
        {"card": card, "name": name, "settings": {"data": {"dataset": dataset}}}
        for name, dataset in (("plain", {}), ("split", split), ("bundled", kept))
    ]
    suite = read_suite(write_suite(suite_content))
    for root, wanted in (
        (None, ("data/ogb", "data", "datasets/bundled")),
        (Path("/disk"), ("/disk/ogb", "/disk", "datasets/bundled")),
    ):
        plans = {
            run.combination.dataset: run.config["data"]["dataset"]["init_args"]
            for run in plan_runs(suite, resolve, root)
        }
        found = (
            plans["plain"]["root"],
            plans["split"]["source"]["init_args"]["root"],
            plans["bundled"]["root"],
        )
        assert found == wanted
