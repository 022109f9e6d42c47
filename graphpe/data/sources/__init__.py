"""Where the graphs of a `GraphDataModule` come from."""

from __future__ import annotations

from graphpe.data.sources.alchemy import AlchemySource
from graphpe.data.sources.base import GraphSource, Part, SplitGraphs
from graphpe.data.sources.csl import CSLSource
from graphpe.data.sources.gnn_benchmark import GNNBenchmarkSource
from graphpe.data.sources.in_memory import InMemorySource
from graphpe.data.sources.lrgb import LRGBSource
from graphpe.data.sources.nodes import NodeSource
from graphpe.data.sources.ogb import OGBSource
from graphpe.data.sources.ogb_nodes import OGBNodeSource
from graphpe.data.sources.one_graph import (
    DirectedCitationSource,
    HeterophilousSource,
    PlanetoidSource,
    WebKBSource,
    WikipediaSource,
)
from graphpe.data.sources.pcqm4mv2 import PCQM4Mv2Source
from graphpe.data.sources.size_split import SizeSplit
from graphpe.data.sources.tu import TUSource
from graphpe.data.sources.zinc import ZINCSource

__all__ = [
    "AlchemySource",
    "CSLSource",
    "DirectedCitationSource",
    "GNNBenchmarkSource",
    "GraphSource",
    "HeterophilousSource",
    "InMemorySource",
    "LRGBSource",
    "NodeSource",
    "OGBNodeSource",
    "OGBSource",
    "PCQM4Mv2Source",
    "Part",
    "PlanetoidSource",
    "SizeSplit",
    "SplitGraphs",
    "TUSource",
    "WebKBSource",
    "WikipediaSource",
    "ZINCSource",
]
