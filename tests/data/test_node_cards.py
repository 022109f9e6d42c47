"""The cards of node-level datasets in datasets/: true to the data, and to OGB's table."""

from __future__ import annotations

import csv
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import graphpe.data
from graphpe import Features, Task
from graphpe.data import (
    DirectedCitationSource,
    HeterophilousSource,
    NodeSource,
    PlanetoidSource,
    WebKBSource,
    WikipediaSource,
)
from graphpe.data.feature_check import check_features

FOLDERS = {
    PlanetoidSource: "planetoid/{name}",
    WebKBSource: "webkb/{name}",
    WikipediaSource: "wikipedia/{name}/geom_gcn",
    HeterophilousSource: "heterophilous/{name}",
    DirectedCitationSource: "directed/{lower}",
}
NAMES = {
    *("cora", "citeseer", "pubmed", "directed-cora-ml", "directed-citeseer"),
    *("texas", "wisconsin", "cornell", "chameleon", "squirrel", "tolokers", "minesweeper"),
    *("ogbn-arxiv", "ogbn-products", "ogbn-proteins"),
}
DIRECTED = (WebKBSource, WikipediaSource, DirectedCitationSource)


def read(path: Path) -> tuple[dict[str, Any], type[NodeSource], dict[str, Any]]:
    raw = yaml.safe_load(path.read_text())
    dataset = raw["data"]["dataset"]
    cls = getattr(graphpe.data, dataset["class_path"].rpartition(".")[2])
    return raw, cls, dataset["init_args"]


CARDS = [
    path
    for path in sorted((Path(__file__).resolve().parents[2] / "datasets").glob("*.yaml"))
    if issubclass(read(path)[1], NodeSource)
]
OF_OGB = [path for path in CARDS if path.stem.startswith("ogbn-")]


def test_there_is_a_card_for_each_dataset() -> None:
    assert {path.stem for path in CARDS} == NAMES


@pytest.mark.parametrize("path", OF_OGB, ids=lambda path: path.stem)
def test_card_agrees_with_ogb(path: Path) -> None:
    rows = list(csv.reader((files("ogb.nodeproppred") / "master.csv").read_text().splitlines()))
    meta = {row[0]: row[rows[0].index(path.stem)] for row in rows[1:]}
    raw, _, settings = read(path)
    task = Task(**raw["task"])
    assert settings["name"] == path.stem
    assert raw["card"]["source"] == meta["url"]
    assert raw["card"]["split"].startswith(meta["split"])
    assert task.level == "node"
    assert task.metric == {"acc": "accuracy"}.get(meta["eval metric"], meta["eval metric"])
    assert meta["task type"].startswith(task.kind)
    assert task.num_targets == int(meta["num tasks"])
    assert task.kind == "binary" or task.num_classes == int(meta["num classes"])
    features = Features(**raw["features"])
    assert bool(features.node_continuous) == (meta["has_node_attr"] == "True")
    assert bool(features.edge_continuous) == (meta["has_edge_attr"] == "True")


@pytest.mark.parametrize(
    "path", [path for path in CARDS if path not in OF_OGB], ids=lambda path: path.stem
)
def test_card_agrees_with_the_data(path: Path, shared_data: Path, tmp_path: Path) -> None:
    raw, cls, settings = read(path)
    card, task, name = raw["card"], Task(**raw["task"]), settings["name"]
    folder = FOLDERS[cls].format(name=name, lower=name.lower())
    if not (shared_data / folder / "raw").is_dir():
        pytest.skip(f"{name} is not in {shared_data}")
    to = tmp_path / Path(*Path(folder).parts[1:])
    shutil.copytree(shared_data / folder / "raw", to / "raw", copy_function=shutil.copyfile)
    source = cls(**{**settings, "root": tmp_path})
    graphs, index = source.load()
    (graph,) = graphs
    assert card["num_graphs"] == 1
    assert graph.num_nodes == card["average_nodes"]
    directions = 1 if cls in DIRECTED else 2
    assert graph.num_edges == directions * card["average_edges"]
    assert graph.is_directed() == (directions == 1)
    sizes = " / ".join(f"{len(index[part]):,}" for part in ("train", "valid", "test"))
    assert sizes in card["split"]
    check_features(Features(**raw["features"]), graphs)
    assert graph.y.unique().tolist() == list(range(task.num_classes))
    if settings.get("normalize_features"):
        sums = graph.x.sum(1)
        assert torch.allclose(sums[sums > 0], torch.ones(int((sums > 0).sum())), atol=1e-5)
    if "undirected" in settings:
        (both,) = cls(**{**settings, "root": tmp_path, "undirected": True}).load().graphs
        assert both.is_undirected()
