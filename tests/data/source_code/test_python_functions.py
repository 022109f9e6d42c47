"""The dataset of Python functions: its graphs, its parts and vocabularies, and what it does with broken input."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch_geometric.utils import is_undirected

from graphpe import Features
from graphpe.data.feature_check import check_features
from graphpe.data.source_code import PythonFunctions
from graphpe.data.source_code.edges import EdgeKind

FEATURES = Features(node_categories=(106, 10_003), edge_categories=(7, 60))
FUNCTION = """
def {name}(self, x, {argument}):
    y = self.run(x)
    return y + {argument} + {number}
"""


def word(number: int) -> str:
    """A word that only the package of this number has."""
    return "abcdefghij"[number // 10] + "abcdefghij"[number % 10]


def sources(folder: Path, packages: int = 10) -> Path:
    """Packages p0, p1 and so on, with as many functions as their number and one more."""
    for number in range(packages):
        path = folder / f"p{number}" / "module.py"
        path.parent.mkdir(parents=True)
        functions = [
            FUNCTION.format(name=f"get_{word(number)}_{i}", argument=f"arg{i}", number=number)
            for i in range(number + 1)
        ]
        path.write_text("".join(functions))
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> PythonFunctions:
    folder = sources(tmp_path / "sources")
    return PythonFunctions(root=tmp_path / "root", sources=(folder,), min_nodes=1)


def vocabularies(dataset: PythonFunctions) -> dict[str, list[str]]:
    dataset.prepare()
    return json.loads((dataset.folder / "vocabularies.json").read_text())


def test_a_graph_by_hand(dataset: PythonFunctions) -> None:
    graphs, _ = dataset.load()
    graph = next(graph for graph in graphs if graph.num_nodes == 19)
    assert graph.edge_index.shape == (2, 18)
    assert is_tree(graph.edge_index)
    assert graph.x.dtype == graph.node_depth.dtype == graph.edge_attr.dtype == torch.int64
    # FunctionDef, arguments, three arg.
    assert graph.x[:5, 0].tolist() == [1, graph.x[1, 0], *[graph.x[2, 0]] * 3]
    assert graph.x[:2, 1].tolist() == [2, 0]  # masked, none
    assert graph.node_depth[:6, 0].tolist() == [0, 1, 2, 2, 2, 1]
    assert graph.edge_attr[:, 0].unique().tolist() == [EdgeKind.CHILD]
    check_features(FEATURES, graphs)
    assert set(dataset.fields) == {"node_depth"}


def is_tree(edge_index: torch.Tensor) -> bool:
    parents, children = edge_index
    each_once = sorted(children.tolist()) == list(range(1, len(children) + 1))
    return each_once and bool((parents < children).all())


def test_packages_are_in_one_part_and_sizes_are_as_asked(tmp_path: Path) -> None:
    folder = sources(tmp_path / "sources", 30)
    dataset = PythonFunctions(root=tmp_path, sources=(folder,), min_nodes=1)
    graphs, index = dataset.load()
    assert len(graphs) == sum(range(1, 31))
    packages = vocabularies(dataset)["packages"]
    assert sorted(chain.from_iterable(packages.values())) == sorted(
        f"p{number}" for number in range(30)
    )
    fractions = [len(index[part]) / len(graphs) for part in ("train", "valid", "test")]
    assert fractions == pytest.approx([0.8, 0.1, 0.1], abs=0.005)
    # The second word of a name says which package it is from.
    words = vocabularies(dataset)["words"]
    for own in index["train"].tolist():
        assert words[int(graphs[own].y[0, 1])] in {word(int(p[1:])) for p in packages["train"]}


def test_vocabularies_are_of_the_training_part_only(dataset: PythonFunctions) -> None:
    graphs, index = dataset.load()
    content = vocabularies(dataset)
    words, packages = content["words"], content["packages"]
    letters = {part: {word(int(p[1:])) for p in own} for part, own in packages.items()}
    assert letters["train"] <= set(words)
    assert not (letters["valid"] | letters["test"]) & set(words)
    assert words[0] == "get"
    held_out = {package[1:] for part in ("valid", "test") for package in packages[part]}
    assert not held_out & set(content["attributes"])
    for part, numbers in index.items():
        for graph in graphs[numbers]:
            get, letter, _, *end = graph.y[0].tolist()
            assert get == 0
            assert (letter < len(words)) == (part == "train")
            assert (letter >= 1_000_000) == (part != "train")
            assert all(number == -1 for number in end)
            # The number of the package is a constant: known in the training part, otherwise 1.
            assert (1 in graph.x[:, 1].tolist()) == (part != "train")


def test_the_task_alone_says_how_many_words_are_classes(dataset: PythonFunctions) -> None:
    """All training words have numbers by their frequency, so the first ones are the classes, whatever their number."""
    graphs, index = dataset.load()
    words = vocabularies(dataset)["words"]
    counts = graphs.y[index["train"]][graphs.y[index["train"]] >= 0].bincount()
    assert len(counts) == len(words)
    assert sorted(range(len(words)), key=lambda number: (-counts[number], words[number])) == list(
        range(len(words))
    )
    assert "words" not in {field.name for field in fields(dataset)}


def test_each_graph_has_its_own_name(dataset: PythonFunctions) -> None:
    graphs, index = dataset.load()
    content = vocabularies(dataset)
    for graph in graphs[index["train"]]:
        _, letters, number, *_ = graph.y[0].tolist()
        attributes = {content["attributes"][i - 3] for i in graph.x[:, 1].tolist() if i >= 3}
        # The third word of the name is in the name of an argument, the second one says the package.
        assert {text for text in attributes if text.startswith("arg")} == {
            f"arg{content['words'][number]}"
        }
        package = next(text for text in attributes if text.isdigit())
        assert content["words"][letters] == word(int(package))


def test_limits_of_vocabularies(dataset: PythonFunctions) -> None:
    small = replace(dataset, attributes=2)
    graphs, _ = small.load()
    # Equally frequent ones in alphabetical order: self, x and y are twice in each function.
    assert vocabularies(small)["attributes"] == ["self", "x"]
    assert sorted(set(graphs.x[:, 1].tolist())) == [0, 1, 2, 3, 4]


def columns(dataset: PythonFunctions) -> list[object]:
    graphs, index = dataset.load()
    parts = [(part, numbers.tolist()) for part, numbers in index.items()]
    return [
        {name: own.tolist() for name, own in graph.to_dict().items()} for graph in graphs
    ] + parts


def test_the_same_wherever_the_files_are(dataset: PythonFunctions, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    for package in sorted(dataset.sources[0].iterdir(), reverse=True):
        shutil.copytree(package, copy / package.name)
    other = replace(dataset, sources=(copy,), root=tmp_path / "other")
    assert other.folder.name == dataset.folder.name
    assert columns(other) == columns(dataset)


def test_another_content_is_another_dataset(dataset: PythonFunctions) -> None:
    others = [
        replace(dataset, seed=1),
        replace(dataset, attributes=7),
        replace(dataset, graph="data_flow"),
    ]
    before = replace(dataset).folder
    (dataset.sources[0] / "p0" / "module.py").write_text("x = 1")
    others.append(replace(dataset))
    assert len({before, *(other.folder for other in others)}) == 5
    dataset.prepare()  # it had read nothing before
    assert dataset.folder == others[-1].folder


def test_a_file_that_changes_on_the_way(dataset: PythonFunctions) -> None:
    dataset.sizes()
    (dataset.sources[0] / "p3" / "module.py").write_text("x = 1")
    with pytest.raises(ValueError, match=r"module\.py has changed since it was first read; try ag"):
        dataset.load()
    assert not (dataset.folder / "graphs.pt").exists()


def test_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sources(tmp_path / "sources")
    (folder / "p1" / "broken.py").write_text("def f(:")
    (folder / "p1" / "more.py").write_text(
        "def __init__(self): pass\ndef __(x): pass\ndef small(): pass\n"
        f"def large(): return [{'x, ' * 100}]\n"
        f"def copy(x):\n    'First.'\n    return {'x + ' * 20}1\n"
        f"def copy(x):\n    return {'x + ' * 20}1\n"
    )
    dataset = PythonFunctions(root=tmp_path, sources=(folder,), min_nodes=4, max_nodes=90)
    graphs, _ = dataset.load()
    assert len(graphs) == 55 + 1
    text = " ".join(capsys.readouterr().err.split())
    assert re.search(
        r"python-functions: 56 functions of 11 files in \d / \d / \d packages; left out:", text
    )
    for reason in (
        "1 files that this Python can't parse",
        "2 functions with special names or names without words",
        "1 functions with too few nodes",
        "1 functions with too many nodes",
        "1 functions that repeat an earlier one word for word",
    ):
        assert reason in text
    dataset.load()
    assert "left out" not in capsys.readouterr().err


def test_the_data_flow_graph_has_the_same_nodes(dataset: PythonFunctions) -> None:
    graphs, _ = dataset.load()
    flows, _ = replace(dataset, graph="data_flow").load()
    check_features(FEATURES, flows)
    for graph, flow in zip(graphs, flows, strict=True):
        assert graph.x.equal(flow.x)
        assert graph.y.equal(flow.y)
        is_child = flow.edge_attr[:, 0] == EdgeKind.CHILD
        assert set(map(tuple, graph.edge_index.t().tolist())) == set(
            map(tuple, flow.edge_index[:, is_child].t().tolist())
        )
        rows = torch.cat([flow.edge_index.t(), flow.edge_attr], dim=1)
        assert len(rows.unique(dim=0)) == len(rows) > graph.num_edges
        # y = self.run(x); return y + arg
        kinds = flow.edge_attr[:, 0].bincount(minlength=7).tolist()
        assert kinds[1:] == [4, 2, 0, 0, 0, 1]
        assert not is_undirected(flow.edge_index)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no Python file in"),
        ({"a.py": "x = 1"}, "no function to use .no function at all.; give folders with Python"),
        ({"a.py": "def f(): pass"}, "no function to use .1 functions with too few nodes.; give"),
        ({"a.py": "def f(:"}, "no function to use .1 files that this Python can't parse.; give"),
        ({"a/b.py": FUNCTION.format(name="f", argument="y", number=1)}, "1 top-level packages"),
    ],
)
def test_sources_without_enough_functions(
    content: Mapping[str, str], message: str, tmp_path: Path
) -> None:
    for name, text in content.items():
        path = tmp_path / "sources" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "sources").mkdir(exist_ok=True)
    dataset = PythonFunctions(root=tmp_path / "root", sources=(tmp_path / "sources",))
    with pytest.raises(ValueError, match=message):
        dataset.load()
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graph": "call_graph"}, "graph is 'call_graph'; it must be 'syntax_tree' or 'data_flow'"),
        ({"attributes": 0}, "attributes is 0; it must be an integer >= 1"),
        ({"min_nodes": 9, "max_nodes": 8}, "min_nodes is 9 and max_nodes 8"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PythonFunctions(**settings)


@pytest.mark.parametrize("sources", ["src", Path("src"), 5, [5], {"src": 1}])
def test_sources_that_are_no_list_of_folders(sources: object) -> None:
    message = f"sources is {sources!r}; give a list of folders, such as ['my/folder']"
    with pytest.raises(TypeError, match=re.escape(message)):
        PythonFunctions(sources=sources)


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["syntax_tree", "data_flow"])
def test_some_of_the_standard_library(graph: str, tmp_path: Path) -> None:
    """Real code, with all that is odd in it, in all parts."""
    stdlib = Path(json.__file__).parents[1]
    names = ("ast", "argparse", "dataclasses", "enum", "inspect", "shutil", "tarfile", "typing")
    packages = ("collections", "email", "http", "json", *(f"{name}.py" for name in names))
    dataset = PythonFunctions(
        root=tmp_path, sources=tuple(map(stdlib.joinpath, packages)), graph=graph
    )
    graphs, index = dataset.load()
    assert len(graphs) > 700
    check_features(FEATURES, graphs)
    assert min(len(numbers) for numbers in index.values()) > 40
    sizes = graphs.slices["x"].diff()
    assert int(sizes.min()) >= 10
    assert int(sizes.max()) <= 1_000
    children = graphs.edge_attr[:, 0] == EdgeKind.CHILD
    assert int(children.sum()) == int((sizes - 1).sum())
    assert (graph == "data_flow") == bool((graphs.edge_attr[:, 0] == EdgeKind.CONTROL_FLOW).any())
