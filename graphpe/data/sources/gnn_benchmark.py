"""PATTERN and CLUSTER."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphpe.data.downloaded.gnn_benchmark import GNNBenchmarkGraphs
from graphpe.data.sources.base import GraphSource, SplitGraphs


@dataclass(frozen=True)
class GNNBenchmarkSource(GraphSource):
    """PATTERN or CLUSTER with its official split; see `GNNBenchmarkGraphs`.

    Args:
        name: ``"PATTERN"`` or ``"CLUSTER"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
    """

    name: str
    root: Path = Path("data/gnn-benchmark")

    def load(self) -> SplitGraphs:
        graphs = GNNBenchmarkGraphs(self.name, self.root)
        return SplitGraphs(graphs, graphs.get_idx_split())
