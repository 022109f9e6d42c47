"""Datasets of one large graph whose nodes are to be classified, in the files that PyG's classes read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric import datasets
from torch_geometric.data import Data
from torch_geometric.io import read_npz, read_planetoid_data
from torch_geometric.utils import coalesce, to_undirected

from graphpe import files
from graphpe.checks import require_choice
from graphpe.data.array_pickle import check_array_pickle
from graphpe.data.downloaded.base import DownloadedGraphs
from graphpe.data.storage import Packed, pack_graphs


class OneGraph(DownloadedGraphs):
    """A graph with classes of nodes in ``y [n]``, int64, and masks of nodes where it comes with a split.

    It is the graph of PyG's dataset of the same name, and so are the raw files and where they come from.

    Args:
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        name: One of ``names``.
    """

    names: ClassVar[tuple[str, ...]]

    def __init__(self, root: str | Path, name: str) -> None:
        require_choice("name", name, self.names)
        self.name = self.title = name
        super().__init__(Path(root) / self.folder)

    @property
    def folder(self) -> str:
        """The dataset's folder, in which ``raw/`` is."""
        return self.name

    @property
    @abstractmethod
    def urls(self) -> dict[str, str]:
        """Where each raw file comes from."""

    @abstractmethod
    def read_graph(self) -> Data:
        """The graph in the raw files."""

    @property
    def raw_file_names(self) -> list[str]:
        return list(self.urls)

    def fetch(self, work: Path) -> Path:
        raw = work / "raw"
        raw.mkdir()
        for file, url in self.urls.items():
            files.download(url, raw / file, f"{self.title}, {file},", self.by_hand)
        return raw

    def read(self) -> tuple[Packed, list[int]]:
        return pack_graphs([self.read_graph()]), [1]


class Planetoid(OneGraph):
    """Citations between papers, with the public split. The raw files are pickles: only arrays are read from them."""

    names = ("Cora", "CiteSeer", "PubMed")

    @property
    def urls(self) -> dict[str, str]:
        parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
        raw_files = [f"ind.{self.name.lower()}.{part}" for part in parts]
        return {file: f"{datasets.Planetoid.url}/{file}" for file in raw_files}

    def read_graph(self) -> Data:
        for file in self.raw_file_names:
            if not file.endswith(".index"):
                with self.reading(file) as path:
                    check_array_pickle(path)
        with self.reading("") as folder:
            return read_planetoid_data(str(folder), self.name)


class GeomGCN(OneGraph):
    """Web pages and the links between them, with ten splits, as prepared by the authors of Geom-GCN; directed."""

    url: ClassVar[str]

    @property
    def urls(self) -> dict[str, str]:
        graph = {file: f"{self.url}/new_data/{self.name}/{file}" for file in (_NODES, _EDGES)}
        splits = [f"{self.name}_split_0.6_0.2_{number}.npz" for number in range(10)]
        return {**graph, **{file: f"{self.url}/splits/{file}" for file in splits}}

    def read_graph(self) -> Data:
        with self.reading(_NODES) as path:
            rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
            x = torch.tensor([[float(value) for value in row[1].split(",")] for row in rows])
            y = torch.tensor([int(row[2]) for row in rows])
        with self.reading(_EDGES) as path:
            edges = torch.from_numpy(np.loadtxt(path, dtype=np.int64, skiprows=1, ndmin=2).T)
            edges = coalesce(edges.contiguous(), num_nodes=len(x))
        masks: list[dict[str, Tensor]] = []
        for file in self.raw_file_names[2:]:
            with self.reading(file) as path, np.load(path) as split:
                names = ("train_mask", "val_mask", "test_mask")
                masks.append({name: torch.from_numpy(split[name]).bool() for name in names})
                _check_masks(masks[-1], len(x))
        stacked = {name: torch.stack([mask[name] for mask in masks], dim=1) for name in masks[0]}
        return Data(x=x, edge_index=edges, y=y, **stacked)


class WebKB(GeomGCN):
    """Pages of a computer science department."""

    names = ("texas", "wisconsin", "cornell")
    url = datasets.WebKB.url


class WikipediaNetwork(GeomGCN):
    """Pages of Wikipedia on a topic, in five classes of traffic. Both graphs hold duplicate nodes."""

    names = ("chameleon", "squirrel")
    url = datasets.WikipediaNetwork.processed_url

    @property
    def folder(self) -> str:
        return f"{self.name}/geom_gcn"


class HeterophilousGraph(OneGraph):
    """Graphs in which neighbours are often of different classes, with ten splits; undirected."""

    names = ("tolokers", "minesweeper")

    @property
    def urls(self) -> dict[str, str]:
        return {f"{self.name}.npz": f"{datasets.HeterophilousGraphDataset.url}/{self.name}.npz"}

    def read_graph(self) -> Data:
        with self.reading(*self.raw_file_names) as path, np.load(path) as raw:
            x, y = torch.from_numpy(raw["node_features"]), torch.from_numpy(raw["node_labels"])
            edges = torch.from_numpy(raw["edges"]).T.contiguous()
            masks = {
                f"{part}_mask": torch.from_numpy(raw[f"{part}_masks"]).T.contiguous()
                for part in ("train", "val", "test")
            }
            _check_masks(masks, len(x))
            edges = to_undirected(edges, num_nodes=len(x))
        return Data(x=x.float(), edge_index=edges, y=y.long(), **masks)


class DirectedCitations(OneGraph):
    """Citations between papers, as directed edges without loops; there is no split.

    CiteSeer is that of papers on directed graphs, with 3,312 nodes; PyG's ``CitationFull`` has another one.
    """

    names = ("Cora_ML", "CiteSeer")

    @property
    def folder(self) -> str:
        return self.name.lower()

    @property
    def urls(self) -> dict[str, str]:
        url = {"Cora_ML": datasets.CitationFull.url.format("cora_ml"), "CiteSeer": _CITESEER_URL}
        return {f"{self.name.lower()}.npz": url[self.name]}

    def read_graph(self) -> Data:
        with self.reading(*self.raw_file_names) as path:
            return read_npz(str(path), to_undirected=False)


# Raw files of Geom-GCN.
_NODES, _EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"

_CITESEER_URL = (
    "https://github.com/SherylHYX/pytorch_geometric_signed_directed/raw/main/datasets/citeseer.npz"
)


def _check_masks(masks: dict[str, Tensor], num_nodes: int) -> None:
    """Raises a ValueError if a mask has another length than there are nodes."""
    lengths: Sequence[int] = [len(mask) for mask in masks.values()]
    if set(lengths) != {num_nodes}:
        raise ValueError(f"masks of {lengths} nodes, but there are {num_nodes}")
