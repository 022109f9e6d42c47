"""The graph datasets of TU Dortmund, loaded from PyG's raw files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset
from torch_geometric.io import read_tu_data

from graphpe import files
from graphpe.data.downloaded.base import DownloadedGraphs
from graphpe.data.storage import Packed, pack

_LEVELS = {"node": "x", "edge": "edge_attr"}


class TUGraphs(DownloadedGraphs):
    """A dataset of the TU collection, e.g. ``TUGraphs("ENZYMES")``.

    The graphs are those of ``torch_geometric.datasets.TUDataset`` and so are the raw files and where they come from:
    ``x`` and ``edge_attr`` are labels as one-hot floats, preceded by the attributes where these are wanted; datasets
    without any of them have neither. ``y [G]`` classes, or float targets. Loops are left out and parallel edges are
    one, as in PyG.

    Args:
        name: TU's name of the dataset.
        root: Folder that holds the dataset's folder, called like the dataset; downloaded into it if absent.
        use_node_attr: Whether ``x`` has the continuous attributes of nodes.
        use_edge_attr: Whether ``edge_attr`` has the continuous attributes of edges.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If the raw files can't be downloaded, or one is broken or missing.

    Reference: Morris et al., TUDataset: A Collection of Benchmark Datasets for Learning with Graphs (2020).
    """

    def __init__(
        self,
        name: str,
        root: str | Path = "data/tu",
        use_node_attr: bool = False,
        use_edge_attr: bool = False,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        self.title = name
        super().__init__(Path(root) / name, transform)
        for level, wanted in (("node", use_node_attr), ("edge", use_edge_attr)):
            attribute = _LEVELS[level]
            values = self._data.get(attribute)
            if values is not None and not wanted:
                values = values[:, self._kept[f"num_{level}_attributes"] :]
                self._set_column(attribute, values if values.shape[1] else None)

    def _set_column(self, attribute: str, values: Tensor | None) -> None:
        """Replaces an attribute of all graphs, or removes it."""
        if values is not None:
            self._data[attribute] = values
            return
        if attribute == "x":  # nodes are counted by it
            self._data.num_nodes = len(self._data.x)
            self._data._store._num_nodes = self.slices["x"].diff().tolist()
        del self._data[attribute], self.slices[attribute]

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.title}_{name}.txt" for name in ("A", "graph_indicator")]

    @property
    def by_hand(self) -> str:
        return f"put the files {self.title}_*.txt into {Path(self.raw_dir).absolute()} yourself"

    def fetch(self, work: Path) -> Path:
        archive = work / "download.zip"
        files.download(f"{TUDataset.url}/{self.title}.zip", archive, self.title, self.by_hand)
        files.unpack(archive, work, self.title)
        return work / self.title

    def read(self) -> tuple[Packed, dict[str, int]]:
        with self.reading(f"{self.title}_*.txt"):
            data, slices, widths = read_tu(self.raw_dir, self.title)
            return pack(data, slices), widths


def read_tu(folder: str, name: str) -> tuple[Data, dict[str, Tensor], dict[str, int]]:
    """What ``torch_geometric.io.read_tu_data`` gives, with graphs without edges at the end, which it leaves out.

    Raises:
        ValueError: If there are no targets, or rows are missing.
    """
    for path in Path(folder).glob(f"{name}_*.txt"):
        if not _ends_a_line(path):  # PyG's reader would leave out what is after the last line end
            raise ValueError(f"{path.name} does not end with the end of a line")
    data, slices, widths = read_tu_data(folder, name)
    if data.y is None:
        raise ValueError("there are neither graph_labels nor graph_attributes")
    num_graphs = len(data.y)
    for attribute, ends in slices.items():
        is_of_edges = attribute in ("edge_index", "edge_attr")
        lacking = max(num_graphs + 1 - len(ends), 0) if is_of_edges else 0
        slices[attribute] = torch.cat([ends, ends[-1:].expand(lacking)])
        rows = data.edge_index.shape[1] if is_of_edges else len(data[attribute])
        if len(slices[attribute]) != num_graphs + 1 or int(ends[-1]) != rows:
            raise ValueError(
                f"there are {num_graphs} targets, and {rows} rows of {attribute} for {len(ends) - 1} graphs with "
                f"{int(ends[-1])}"
            )
    return data, slices, widths


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 1, 0))
        return file.read() == b"\n"
