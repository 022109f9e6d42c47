"""Nodes of the Open Graph Benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from graphpe.data.downloaded.ogb_nodes import OGBNodes
from graphpe.data.sources.base import SplitGraphs
from graphpe.data.sources.nodes import NodeSource


@dataclass(frozen=True)
class OGBNodeSource(NodeSource):
    """A node-level dataset of the Open Graph Benchmark with its official split; see `OGBNodes`.

    Args:
        name: ``"ogbn-arxiv"``, ``"ogbn-products"`` or ``"ogbn-proteins"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        undirected: Add the reverse of each citation of ogbn-arxiv, as most entries of OGB's leaderboard do. The other
            graphs have both directions already.
        feature_dropout: See `NodeSource`.
    """

    name: str
    root: Path = Path("data/ogb")
    undirected: bool = False

    def load(self) -> SplitGraphs:
        dataset = OGBNodes(self.name, self.root)
        data = dataset[0]
        edges = data.edge_index
        if self.undirected and data.edge_attr is None:
            edges = to_undirected(edges, num_nodes=data.num_nodes)
        # Neither the year nor the species, from which OGB made its splits.
        graph = Data(x=data.x, edge_index=edges, edge_attr=data.edge_attr, y=data.y)
        graph.num_nodes = data.num_nodes
        return SplitGraphs([graph], dataset.get_idx_split())
