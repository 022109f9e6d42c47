"""Python functions as graphs, whose names are to be predicted."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch_geometric.data import Data

from graphpe import files
from graphpe.checks import require_choice, require_positive_integer
from graphpe.data.generated.base import GeneratedGraphs, print_line
from graphpe.data.source_code.catalogue import Catalogue, FunctionFilter, make_catalogue
from graphpe.data.source_code.collect import SourceFile, find_files
from graphpe.data.source_code.data_flow import data_flow_edges
from graphpe.data.source_code.edges import Edge, tree_edges
from graphpe.data.source_code.syntax_tree import LARGEST_DEPTH, SyntaxTree
from graphpe.fields import Field

GraphKind = Literal["syntax_tree", "data_flow"]


@dataclass(frozen=True, kw_only=True)
class PythonFunctions(GeneratedGraphs):
    """The functions of some Python code as directed graphs; the task is to predict the words of a function's name.

    Made from any folder of Python files, and by default from the standard library of the running Python, so that
    nothing is downloaded. It has the form of ogbg-code2: ``x [n, 2]`` int64 is the type and the attribute of each node
    of the syntax tree (`graphpe.data.source_code.syntax_tree`) in the order of the text, ``node_depth [n, 1]`` its
    depth, at most 20, and ``y [1, L]`` the words of the name, as numbers (`SubtokenVocabulary`), -1 after the end.
    All words of the training part have numbers, frequent ones first, so that ``num_classes`` of the task alone says how
    many of them are classes; words outside of it are numbered from 1,000,000 on.

    Edges go in one direction; ``edge_attr [e, 2]`` is their kind and the field of the syntax tree. ``graph`` says which
    there are:

    - ``"syntax_tree"``: from each node to its children.
    - ``"data_flow"``: also those of `graphpe.data.source_code.data_flow`: what was written last, what is computed from
      what, calls of functions defined inside, and the order of statements as far as it matters.

    Functions are those of modules and methods of classes; one inside of another belongs to the graph of that one.
    Functions whose names begin and end with two underscores or have no letter or digit are left out, and so are files
    that this Python can't parse; of functions that agree word for word, except for docstrings, the first one is kept.
    The name of a function is masked wherever it occurs in its graph.

    A top-level package (or module) is in one part only. The parts hold about 80, 10 and 10 % of the functions, and the
    vocabularies come from the training part. Nothing in the sources is run or imported.

    Args:
        sources: Packages (folders with ``__init__.py``), folders of packages, or Python files. None: the standard
            library of the running Python, without its tests, ``idlelib`` and ``lib2to3``.
        graph: Which edges there are.
        attributes: Largest number of attributes in the vocabulary. Category 0 is none, 1 any other, 2 the masked name.
        min_nodes: Smaller functions are left out.
        max_nodes: Larger functions are left out.

    Raises:
        TypeError: If ``sources`` is not a list of paths.
        ValueError: If a setting is out of range, a source can't be read, or the sources have no function to use or too
            few packages.

    Reference: Hu et al., Open Graph Benchmark (NeurIPS 2020); Geisler et al., Transformers Meet Directed Graphs (ICML
    2023).
    """

    sources: tuple[Path, ...] | None = None
    graph: GraphKind = "syntax_tree"
    attributes: int = 10_000
    min_nodes: int = 10
    max_nodes: int = 1_000

    items_per_shard = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("graph", self.graph, get_args(GraphKind))
        for name in ("attributes", "min_nodes", "max_nodes"):
            require_positive_integer(name, getattr(self, name))
        if self.min_nodes > self.max_nodes:
            raise ValueError(
                f"min_nodes is {self.min_nodes} and max_nodes {self.max_nodes}; min_nodes must not be larger"
            )
        if self.sources is not None:
            is_list = isinstance(self.sources, list | tuple)
            if not (is_list and all(isinstance(source, str | Path) for source in self.sources)):
                raise TypeError(
                    f"sources is {self.sources!r}; give a list of folders, such as ['my/folder']"
                )
            object.__setattr__(self, "sources", tuple(map(Path, self.sources)))

    @property
    def fields(self) -> dict[str, Field]:
        depth = Field("node_depth", "node", 1, torch.int64, categories=LARGEST_DEPTH + 1)
        return {depth.name: depth}

    def sizes(self) -> dict[str, int]:
        """Number of files of each part that hold functions to use."""
        return {part: len(own) for part, own in self._catalogue.files.items()}

    def generate(self, part: str, numbers: range) -> list[Data]:
        """The graphs of the functions of some files of a part."""
        catalogue = self._catalogue
        graphs = []
        for number in numbers:
            functions = self._filter.usable(_unchanged(catalogue.files[part][number]), Counter())
            kept, targets = catalogue.kept[part][number], catalogue.targets[part][number]
            for which, target in zip(kept, targets, strict=True):
                graphs.append(self._graph(functions[which].tree, target))
        return graphs

    def _graph(self, tree: SyntaxTree, target: Tensor) -> Data:
        edges = self._edges(tree)
        attributes = self._catalogue.attributes.encode(tree.attributes())
        table = torch.tensor(edges, dtype=torch.long).reshape(-1, 4)
        return Data(
            x=torch.tensor([tree.types(), attributes]).t().contiguous(),
            edge_index=table[:, :2].t().contiguous(),
            edge_attr=table[:, 2:].contiguous(),
            y=target[None].clone(),
            node_depth=torch.tensor(tree.depths).clamp(max=LARGEST_DEPTH)[:, None],
        )

    def _edges(self, tree: SyntaxTree) -> list[Edge]:
        edges = tree_edges(tree) if self.graph == "syntax_tree" else data_flow_edges(tree)
        return sorted(set(edges))

    @property
    def _filter(self) -> FunctionFilter:
        return FunctionFilter(self.min_nodes, self.max_nodes)

    @cached_property
    def _files(self) -> list[SourceFile]:
        return find_files(self.sources)

    @cached_property
    def _catalogue(self) -> Catalogue:
        columns = (
            TextColumn("Reading Python files"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=len(self._files))
            return make_catalogue(
                self._files,
                self._filter,
                self.attributes,
                self.seed,
                lambda: bar.advance(task),
            )

    def _settings(self) -> dict[str, Any]:
        # The files as they are, and what ast makes of them, instead of where they lie.
        content = hashlib.sha256()
        for file in self._files:
            content.update(f"{file.label}\0{file.digest}\n".encode(errors="surrogateescape"))
        version = ".".join(map(str, sys.version_info[:2]))
        return {**super()._settings(), "sources": content.hexdigest(), "python": version}

    def _generate(self, folder: Path) -> None:
        catalogue = self._catalogue
        print_line(f"{self._name()}: {catalogue}")
        vocabularies = {
            "words": catalogue.words.words,
            "attributes": catalogue.attributes.attributes,
            "packages": {
                part: sorted({file.package for file in own})
                for part, own in catalogue.files.items()
            },
        }
        files.save_text(json.dumps(vocabularies, indent=1) + "\n", folder / "vocabularies.json")
        super()._generate(folder)


def _unchanged(file: SourceFile) -> bytes:
    content = file.read()
    if hashlib.sha256(content).hexdigest() != file.digest:
        raise ValueError(f"sources: {file.path} has changed since it was first read; try again")
    return content
