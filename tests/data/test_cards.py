"""The cards in datasets/: complete, parsed as a configuration, and true to the data."""

from __future__ import annotations

import csv
import shutil
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonargparse
import pytest
import yaml
from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

import graphpe.data
from graphpe import Features, Task
from graphpe.data import (
    CycleCounting,
    DatasetCard,
    GeneratedGraphs,
    GraphDataModule,
    NodeSource,
    RandomDigraphs,
    SourceDistance,
)
from graphpe.data.feature_check import check_features


def is_of_one_graph(path: Path) -> bool:
    dataset = yaml.safe_load(path.read_text())["data"]["dataset"]
    return issubclass(getattr(graphpe.data, dataset["class_path"].rpartition(".")[2]), NodeSource)


CARDS = sorted((Path(__file__).resolve().parents[2] / "datasets").glob("*.yaml"))
OGB_NAMES = (
    "molesol",
    "molfreesolv",
    "mollipo",
    "molbace",
    "molbbbp",
    "molclintox",
    "molmuv",
    "molsider",
    "moltox21",
    "moltoxcast",
    "molhiv",
    "molpcba",
    "ppa",
    "code2",
)
# Datasets of graphs that are downloaded, and their folders in the shared data, where they can be there.
FOLDERS = {f"ogbg-{name}": f"ogb/ogbg_{name}" for name in OGB_NAMES} | {
    "zinc": "zinc",
    "zinc-full": None,
    "peptides-func": "lrgb/peptides-func",
    "peptides-struct": "lrgb/peptides-struct",
    "pattern": "gnn-benchmark/PATTERN",
    "cluster": "gnn-benchmark/CLUSTER",
    "enzymes": "tu/ENZYMES",
    "proteins": "tu/PROTEINS",
    "mutag": "tu/MUTAG",
    "nci1": "tu/NCI1",
    "alchemy": "tu/alchemy_full",
    "pcqm4mv2": None,
}
REAL = [path for path in CARDS if path.stem in FOLDERS]
OGB = [path for path in REAL if path.stem.startswith("ogbg-")]
# Made anew each time they are loaded.
MADE = [path for path in CARDS if path.stem == "csl"]
# Checked in test_node_cards.py.
NODES = [path for path in CARDS if is_of_one_graph(path)]
GENERATED = [path for path in CARDS if path not in (*REAL, *MADE, *NODES)]


def parse(path: Path) -> Any:
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(DatasetCard, "card")
    parser.add_class_arguments(Task, "task")
    parser.add_class_arguments(Features, "features")
    parser.add_class_arguments(GraphDataModule, "data")
    parser.add_argument("--config", action="config")
    return parser.instantiate(parser.parse_args(["--config", str(path)]))


def test_there_is_a_card_for_each_dataset() -> None:
    assert {path.stem for path in REAL} == set(FOLDERS)
    with_card = {type(parse(path).data.dataset) for path in GENERATED}
    datasets = GeneratedGraphs.__subclasses__()
    assert with_card == {kind for kind in datasets if kind.__module__.startswith("graphpe.")}


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_card_is_complete(path: Path) -> None:
    raw = yaml.safe_load(path.read_text())
    assert list(raw) == ["card", "task", "features", "data"]
    config = parse(path)
    assert isinstance(config.card, DatasetCard)
    assert isinstance(config.task, Task)
    assert isinstance(config.features, Features)
    assert all(baseline.reference and baseline.mean for baseline in config.card.baselines)
    if path not in MADE:
        assert not Path(config.data.dataset.root).is_absolute()


@pytest.mark.parametrize("path", OGB, ids=lambda path: path.stem)
def test_ogb_card_agrees_with_ogb(path: Path) -> None:
    rows = list(csv.reader((files("ogb.graphproppred") / "master.csv").read_text().splitlines()))
    meta = {row[0]: row[rows[0].index(path.stem)] for row in rows[1:]}
    config = parse(path)
    task, features = config.task, config.features
    assert config.data.dataset.name == path.stem
    assert config.card.source == meta["url"]
    assert meta["split"] in config.card.split
    metrics = {"acc": "accuracy", "F1": "f1"}
    assert task.metric == metrics.get(meta["eval metric"], meta["eval metric"])
    kinds = {
        "binary classification": "binary",
        "multiclass classification": "multiclass",
        "subtoken prediction": "subtokens",
    }
    assert task.kind == kinds.get(meta["task type"], meta["task type"])
    if task.kind != "subtokens":
        assert task.num_targets == int(meta["num tasks"])
    if task.kind == "multiclass":
        assert task.out_channels == int(meta["num classes"])
    if meta["data type"] == "mol":
        assert list(features.node_categories) == get_atom_feature_dims()
        assert list(features.edge_categories) == get_bond_feature_dims()
    elif path.stem == "ogbg-ppa":
        assert features == Features(edge_continuous=7)
    else:  # the numbers of types and attributes in the dataset's folder mapping/
        assert features == Features(node_categories=(98, 10030))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_card_agrees_with_the_real_data(path: Path, shared_data: Path, tmp_path: Path) -> None:
    folder = FOLDERS[path.stem]
    if folder is None or not (shared_data / folder).is_dir():
        pytest.skip(f"{path.stem} is not in {shared_data}")
    copy = tmp_path / Path(folder).name
    shutil.copytree(shared_data / folder, copy, copy_function=shutil.copyfile)
    config = parse(path)
    root = copy if path.stem == "zinc" else tmp_path
    graphs, index = replace(config.data.dataset, root=root).load()
    card = config.card
    assert len(graphs) == card.num_graphs
    assert len(graphs.x) / len(graphs) == pytest.approx(card.average_nodes, abs=0.06)
    directions = 1 if path.stem == "ogbg-code2" else 2
    edges = graphs._data.edge_index.shape[1] / directions
    assert edges / len(graphs) == pytest.approx(card.average_edges, abs=0.06)
    sizes = " / ".join(f"{len(index[part]):,}" for part in ("train", "valid", "test"))
    assert sizes in card.split
    check_features(config.features, graphs)
    if path in OGB and path.stem != "ogbg-code2":
        assert graphs.y.shape[1] == config.task.num_targets
    if config.task.kind == "multiclass":
        assert graphs.y.unique().tolist() == list(range(config.task.num_classes))


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_card_agrees_with_the_made_graphs(path: Path) -> None:
    config = parse(path)
    graphs, index = config.data.dataset.load()
    card = config.card
    assert len(graphs) == card.num_graphs
    assert sum(graph.num_nodes for graph in graphs) / len(graphs) == card.average_nodes
    assert sum(graph.num_edges for graph in graphs) / len(graphs) / 2 == card.average_edges
    assert " / ".join(str(len(part)) for part in index.values()) in card.split
    check_features(config.features, graphs)


def cut_down(dataset: GeneratedGraphs, root: Path) -> GeneratedGraphs:
    """The same with few graphs; a dataset whose size can be set has settings of these names."""
    sizes = {"train_size": 60, "valid_size": 3, "test_size": 3}
    names = {field.name for field in fields(dataset)}
    return replace(dataset, root=root, **{name: sizes[name] for name in sizes if name in names})


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.stem)
def test_card_agrees_with_the_generated_data(path: Path, tmp_path: Path) -> None:
    config = parse(path)
    card, task, dataset = config.card, config.task, config.data.dataset
    small = cut_down(dataset, tmp_path)
    if small == replace(dataset, root=tmp_path):
        pytest.skip(f"{type(dataset).__name__} can't be made smaller")
    graphs, index = small.load()
    check_features(config.features, graphs)
    for graph in graphs:
        n = graph.num_nodes
        rows = {"graph": 1, "node": n, "pair": n * n}[task.level]
        assert len(graph.y) == rows
        assert graph.y.shape[1] == task.num_targets or task.kind == "subtokens"
    values = graphs.y[~graphs.y.isnan()]
    if task.kind == "binary":
        assert set(values.tolist()) <= {0.0, 1.0}
    # Independent graphs, one per item.
    if isinstance(dataset, CycleCounting | RandomDigraphs | SourceDistance):
        assert card.num_graphs == sum(dataset.sizes().values())
        assert " / ".join(f"{size:,}" for size in dataset.sizes().values()) in card.split
        train = [graphs[int(number)] for number in index["train"]]
        nodes = sum(graph.num_nodes for graph in train) / len(train)
        directions = 2 if isinstance(dataset, CycleCounting) else 1
        edges = sum(graph.num_edges for graph in train) / (directions * len(train))
        assert nodes == pytest.approx(card.average_nodes, rel=0.25)
        assert edges == pytest.approx(card.average_edges, rel=0.25)
