"""OGB's datasets of nodes of one large graph, loaded without OGB's loading faults."""

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

import_ogb()
import ogb.nodeproppred  # noqa: E402


class OGBNodes(OGBFolder, ogb.nodeproppred.PygNodePropPredDataset):
    """A node-level dataset of the Open Graph Benchmark, e.g. ``OGBNodes("ogbn-arxiv")``: one graph.

    The graph and labels are those of ``ogb.nodeproppred.PygNodePropPredDataset``, of which this is a subclass; see
    `OGBGraphs` for what differs. ogbn-mag (nodes of several types) and ogbn-papers100M (binary files) are not here.

    Args:
        name: ``"ogbn-arxiv"``, ``"ogbn-products"`` or ``"ogbn-proteins"``.
        root: Folder that holds the dataset's folder, which is called like the dataset with ``_`` for ``-``.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If there is no such dataset, it can't be downloaded, or a file of it is broken or missing.

    Reference: Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs (NeurIPS 2020).
    """

    package = ogb.nodeproppred
    items = "node"

    def __init__(
        self,
        name: str,
        root: str | Path = "data/ogb",
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        meta = self.find_meta(name)
        if meta["is hetero"] == "True" or meta["binary"] == "True":
            raise ValueError(
                f"{name} can't be loaded: nodes of several types and binary raw files are not supported; take "
                "ogbn-arxiv, ogbn-products or ogbn-proteins"
            )
        super().__init__(name, root, transform)

    def get_idx_split(self, split_type: str | None = None) -> dict[str, Tensor]:
        """The node numbers of OGB's split.

        Args:
            split_type: Name of the split; None for the official one.

        Returns:
            ``{"train": [..], "valid": [..], "test": [..]}``, int64.

        Raises:
            ValueError: If a file of the split is missing or broken, or does not fit the graph.
        """
        return self.read_split(split_type, self[0].num_nodes)

    def collate_raw(self, graphs: list[Data], labels: np.ndarray) -> Packed:
        if len(graphs) != 1:
            raise ValueError(
                f"{self.name}: the raw files in {self.raw_dir} hold {len(graphs)} graphs, but there is one; put a "
                "complete copy there"
            )
        (graph,) = graphs
        if len(labels) != graph.num_nodes:
            raise ValueError(
                f"{self.name}: {self.raw_dir} has {graph.num_nodes} nodes but {len(labels)} labels; the raw files are "
                "incomplete, so put a complete copy there"
            )
        dtype = torch.float32 if np.isnan(labels).any() else torch.long
        graph.y = torch.tensor(labels, dtype=dtype)
        return pack(graph, None)
