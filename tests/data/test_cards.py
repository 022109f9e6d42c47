"""The cards in datasets/: complete, parsed as a configuration, and true to the data."""

from __future__ import annotations

import csv
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonargparse
import pytest
import yaml
from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

from graphpe import Features, Task
from graphpe.data import DatasetCard, GraphDataModule, OGBSource, ZINCSource
from graphpe.data.feature_check import check_features

CARDS = sorted((Path(__file__).resolve().parents[2] / "datasets").glob("*.yaml"))
NAMES = {
    "zinc",
    "ogbg-molesol",
    "ogbg-molfreesolv",
    "ogbg-mollipo",
    "ogbg-molbace",
    "ogbg-molbbbp",
    "ogbg-moltox21",
    "ogbg-molhiv",
    "ogbg-molpcba",
    "ogbg-ppa",
}


def parse(path: Path) -> Any:
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(DatasetCard, "card")
    parser.add_class_arguments(Task, "task")
    parser.add_class_arguments(Features, "features")
    parser.add_class_arguments(GraphDataModule, "data")
    parser.add_argument("--config", action="config")
    return parser.instantiate(parser.parse_args(["--config", str(path)]))


def test_there_is_a_card_for_each_dataset() -> None:
    assert {path.stem for path in CARDS} == NAMES


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_card_is_complete(path: Path) -> None:
    raw = yaml.safe_load(path.read_text())
    assert list(raw) == ["card", "task", "features", "data"]
    config = parse(path)
    assert isinstance(config.card, DatasetCard)
    assert isinstance(config.task, Task)
    assert isinstance(config.features, Features)
    assert all(baseline.reference and baseline.mean for baseline in config.card.baselines)
    assert not Path(config.data.dataset.root).is_absolute()


@pytest.mark.parametrize(
    "path", [path for path in CARDS if path.stem != "zinc"], ids=lambda path: path.stem
)
def test_ogb_card_agrees_with_ogb(path: Path) -> None:
    rows = list(csv.reader((files("ogb.graphproppred") / "master.csv").read_text().splitlines()))
    meta = {row[0]: row[rows[0].index(path.stem)] for row in rows[1:]}
    config = parse(path)
    task, features = config.task, config.features
    assert config.data.dataset.name == path.stem
    assert config.card.source == meta["url"]
    assert meta["split"] in config.card.split
    assert task.num_targets == int(meta["num tasks"])
    assert task.metric == {"acc": "accuracy"}.get(meta["eval metric"], meta["eval metric"])
    kinds = {"binary classification": "binary", "multiclass classification": "multiclass"}
    assert task.kind == kinds.get(meta["task type"], meta["task type"])
    if task.kind == "multiclass":
        assert task.out_channels == int(meta["num classes"])
    if meta["data type"] == "mol":
        assert list(features.node_categories) == get_atom_feature_dims()
        assert list(features.edge_categories) == get_bond_feature_dims()
    else:
        assert features == Features(edge_continuous=7)


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_card_agrees_with_the_real_data(path: Path, shared_data: Path, tmp_path: Path) -> None:
    folder = "zinc/raw" if path.stem == "zinc" else f"ogb/{path.stem.replace('-', '_')}"
    if not (shared_data / folder).is_dir():
        pytest.skip(f"{path.stem} is not in {shared_data}")
    shutil.copytree(
        shared_data / folder, tmp_path / Path(folder).name, copy_function=shutil.copyfile
    )
    config = parse(path)
    source = ZINCSource(tmp_path) if path.stem == "zinc" else OGBSource(path.stem, tmp_path)
    graphs, index = source.load()
    card = config.card
    assert len(graphs) == card.num_graphs
    assert len(graphs.x) / len(graphs) == pytest.approx(card.average_nodes, abs=0.06)
    edges = graphs._data.edge_index.shape[1] / 2
    assert edges / len(graphs) == pytest.approx(card.average_edges, abs=0.06)
    sizes = " / ".join(f"{len(index[part]):,}" for part in ("train", "valid", "test"))
    assert sizes in card.split
    check_features(config.features, graphs)
    if path.stem != "zinc":
        assert graphs.y.shape[1] == config.task.num_targets
