"""The ZINC molecules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphpe.data.downloaded.zinc import ZINC
from graphpe.data.sources.base import GraphSource, SplitGraphs


@dataclass(frozen=True)
class ZINCSource(GraphSource):
    """The ZINC molecules with their official split; see `ZINC`.

    Args:
        root: Folder with ``raw/``; downloaded into it if absent.
        subset: The 12,000 molecules of the benchmark instead of all 249,456.
    """

    root: Path = Path("data/zinc")
    subset: bool = True

    def load(self) -> SplitGraphs:
        graphs = ZINC(self.root, self.subset)
        return SplitGraphs(graphs, graphs.get_idx_split())
