"""The peptides of the Long Range Graph Benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphpe.data.downloaded.lrgb import LRGBGraphs
from graphpe.data.sources.base import GraphSource, SplitGraphs


@dataclass(frozen=True)
class LRGBSource(GraphSource):
    """Peptides-func or Peptides-struct with its official split; see `LRGBGraphs`.

    Args:
        name: ``"peptides-func"`` or ``"peptides-struct"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
    """

    name: str
    root: Path = Path("data/lrgb")

    def load(self) -> SplitGraphs:
        graphs = LRGBGraphs(self.name, self.root)
        return SplitGraphs(graphs, graphs.get_idx_split())
