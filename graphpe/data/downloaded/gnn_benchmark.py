"""PATTERN and CLUSTER of Benchmarking Graph Neural Networks, loaded from PyG's raw files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.datasets import GNNBenchmarkDataset

from graphpe import files
from graphpe.checks import require_choice
from graphpe.data.downloaded.base import DownloadedGraphs, SplitInOrder, collate_parts
from graphpe.data.storage import Packed

_NAMES = ("PATTERN", "CLUSTER")


class GNNBenchmarkGraphs(SplitInOrder, DownloadedGraphs):
    """PATTERN or CLUSTER: stochastic block models whose nodes are to be classified, as one dataset.

    The graphs are those of ``torch_geometric.datasets.GNNBenchmarkDataset`` and so are the raw files and where they
    come from; here the three splits are one dataset with `get_idx_split`, as in OGB. ``x [n, 3]`` or ``[n, 7]`` one-hot
    floats, ``y [n]`` classes. The raw file is read without running code in it.

    Args:
        name: ``"PATTERN"`` (14,000 graphs, 2 classes) or ``"CLUSTER"`` (12,000 graphs, 6 classes).
        root: Folder that holds the dataset's folder, called like the dataset; downloaded into it if absent.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If there is no such dataset, or the raw file can't be downloaded, or is broken or missing.

    Reference: Dwivedi et al., Benchmarking Graph Neural Networks (JMLR 2023).
    """

    def __init__(
        self,
        name: str,
        root: str | Path = "data/gnn-benchmark",
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        require_choice("name", name, _NAMES)
        self.title = name
        super().__init__(Path(root) / name, transform)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.title}_v2.pt"]

    def fetch(self, work: Path) -> Path:
        archive, raw = work / "download.zip", work / "raw"
        url = GNNBenchmarkDataset.urls[self.title]
        files.download(url, archive, self.title, self.by_hand)
        files.unpack(archive, raw, self.title)
        return raw

    def read(self) -> tuple[Packed, list[int]]:
        with self.reading(self.raw_file_names[0]) as path:
            parts = torch.load(path, weights_only=True)
            return collate_parts([[Data(**graph) for graph in part] for part in parts])
