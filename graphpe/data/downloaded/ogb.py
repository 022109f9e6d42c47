"""OGB's graph-level datasets, loaded without OGB's loading faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.data.downloaded.ogb_folder import OGBFolder
from graphpe.data.ogb_import import import_ogb
from graphpe.data.storage import Packed, pack

_graphproppred = import_ogb()


class OGBGraphs(OGBFolder, _graphproppred.PygGraphPropPredDataset):
    """A graph-level dataset of the Open Graph Benchmark, e.g. ``OGBGraphs("ogbg-molhiv")``.

    The graphs and labels are those of ``ogb.graphproppred.PygGraphPropPredDataset``, of which this is a subclass. It
    also loads under torch >= 2.6, asks no questions, starts no version check, and prints nothing but a progress bar.
    A missing folder is downloaded. The processed graphs go to ``processed/graphpe.pt``, a file of its own, so that no
    ``pre_transform`` from elsewhere gets in; to add encodings use `graphpe.encode`. Processes that start at the same
    time process once; a killed one leaves nothing that looks complete.

    Args:
        name: OGB's name of the dataset, ``"ogbg-..."``.
        root: Folder that holds the dataset's folder, which is called like the dataset with ``_`` for ``-``.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If there is no such dataset, it can't be downloaded, or a file of it is broken or missing.

    Reference: Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs (NeurIPS 2020).
    """

    package = _graphproppred
    items = "graph"

    def __init__(
        self,
        name: str,
        root: str | Path = "data/ogb",
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        super().__init__(name, root, transform)

    def get_idx_split(self, split_type: str | None = None) -> dict[str, Tensor]:
        """The graph numbers of OGB's split.

        Args:
            split_type: Name of the split; None for the official one.

        Returns:
            ``{"train": [..], "valid": [..], "test": [..]}``, int64.

        Raises:
            ValueError: If a file of the split is missing or broken, or does not fit the graphs.
        """
        return self.read_split(split_type, self.len())

    def collate_raw(self, graphs: list[Data], labels: np.ndarray) -> Packed:
        if len(graphs) < 2:
            raise ValueError(
                f"{self.name}: the raw files in {self.raw_dir} hold {len(graphs)} graphs; put a complete copy there"
            )
        data, slices = self.collate(graphs)
        self._set_labels(data, slices, labels, len(graphs))
        return pack(data, slices)

    def _set_labels(
        self, data: Data, slices: dict[str, Tensor], labels: np.ndarray, num_graphs: int
    ) -> None:
        """``y [num_graphs, tasks]``: float for regression and where labels are missing (NaN), otherwise int64."""
        if len(labels) != num_graphs:
            raise ValueError(
                f"{self.name}: {self.raw_dir} has {num_graphs} graphs but {len(labels)} labels; the raw files are "
                "incomplete, so put a complete copy there"
            )
        if self.task_type == "subtoken prediction":
            data.y = [str(label).split(" ") for label in labels[:, 0]]
        else:
            is_integer = "classification" in self.task_type and not np.isnan(labels).any()
            data.y = torch.tensor(labels, dtype=torch.long if is_integer else torch.float32)
        slices["y"] = torch.arange(num_graphs + 1)
