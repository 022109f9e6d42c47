"""Where the graphs of a `GraphDataModule` come from."""

from __future__ import annotations

from graphpe.data.sources.base import GraphSource, Part, SplitGraphs
from graphpe.data.sources.in_memory import InMemorySource
from graphpe.data.sources.ogb import OGBSource
from graphpe.data.sources.zinc import ZINCSource

__all__ = ["GraphSource", "InMemorySource", "OGBSource", "Part", "SplitGraphs", "ZINCSource"]
