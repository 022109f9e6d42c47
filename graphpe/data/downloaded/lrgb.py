"""The peptides of the Long Range Graph Benchmark, loaded from PyG's raw files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.datasets import LRGBDataset

from graphpe import files
from graphpe.checks import require_choice
from graphpe.data.downloaded.base import PARTS_OF_PYG, DownloadedGraphs, SplitInOrder, collate_parts
from graphpe.data.storage import Packed

_NAMES = ("peptides-func", "peptides-struct")


class LRGBGraphs(SplitInOrder, DownloadedGraphs):
    """Peptides-func or Peptides-struct of the Long Range Graph Benchmark, as one dataset.

    The graphs are those of ``torch_geometric.datasets.LRGBDataset`` and so are the raw files and where they come from;
    here the three splits are one dataset with `get_idx_split`, as in OGB. ``x [n, 9]`` and ``edge_attr [e, 3]`` are
    OGB's features of atoms and bonds; ``y [1, 10]`` functions of the peptide, 0 or 1, or ``y [1, 11]`` properties of
    its shape, standardised by the benchmark's authors. The raw files are read without running code in them.

    Args:
        name: ``"peptides-func"`` or ``"peptides-struct"``.
        root: Folder that holds the dataset's folder, called like the dataset; downloaded into it if absent.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If there is no such dataset, or the raw files can't be downloaded, or one is broken or missing.

    Reference: Dwivedi et al., Long Range Graph Benchmark (NeurIPS 2022).
    """

    def __init__(
        self,
        name: str,
        root: str | Path = "data/lrgb",
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        require_choice("name", name, _NAMES)
        self.title = name
        super().__init__(Path(root) / name, transform)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{name}.pt" for name in PARTS_OF_PYG.values()]

    def fetch(self, work: Path) -> Path:
        archive = work / "download.zip"
        files.download(LRGBDataset.urls[self.title], archive, self.title, self.by_hand)
        files.unpack(archive, work, self.title)
        return work / LRGBDataset.dwnld_file_name[self.title]

    def read(self) -> tuple[Packed, list[int]]:
        return collate_parts([self._read_part(file) for file in self.raw_file_names])

    def _read_part(self, file: str) -> list[Data]:
        with self.reading(file) as path:
            return [
                Data(x=x, edge_index=edge_index, edge_attr=edge_attr, y=y)
                for x, edge_attr, edge_index, y in torch.load(path, weights_only=True)
            ]
