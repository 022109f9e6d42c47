"""The Alchemy molecules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphpe.data.downloaded.alchemy import AlchemyGraphs
from graphpe.data.sources.base import GraphSource, SplitGraphs


@dataclass(frozen=True)
class AlchemySource(GraphSource):
    """The 12,000 molecules of Alchemy with the published split; see `AlchemyGraphs`.

    Args:
        root: Folder that holds the folder ``alchemy_full``; downloaded into it if absent.
    """

    root: Path = Path("data/tu")

    def load(self) -> SplitGraphs:
        graphs = AlchemyGraphs(self.root)
        return SplitGraphs(graphs, graphs.get_idx_split())
