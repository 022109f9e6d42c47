"""Datasets, and their encodings and batches for Lightning."""

from __future__ import annotations

from graphpe.data.card import Baseline, DatasetCard
from graphpe.data.downloaded.alchemy import AlchemyGraphs
from graphpe.data.downloaded.gnn_benchmark import GNNBenchmarkGraphs
from graphpe.data.downloaded.lrgb import LRGBGraphs
from graphpe.data.downloaded.ogb import OGBGraphs
from graphpe.data.downloaded.ogb_nodes import OGBNodes
from graphpe.data.downloaded.pcqm4mv2 import PCQM4Mv2Graphs
from graphpe.data.downloaded.tu import TUGraphs
from graphpe.data.downloaded.zinc import ZINC
from graphpe.data.generated import (
    CycleCounting,
    GeneratedGraphs,
    RandomDigraphs,
    SortingNetworks,
    SourceDistance,
)
from graphpe.data.module import GraphDataModule
from graphpe.data.molecules import smiles_to_graph
from graphpe.data.source_code import PythonFunctions
from graphpe.data.sources import (
    AlchemySource,
    CSLSource,
    DirectedCitationSource,
    GNNBenchmarkSource,
    GraphSource,
    HeterophilousSource,
    InMemorySource,
    LRGBSource,
    NodeSource,
    OGBNodeSource,
    OGBSource,
    PCQM4Mv2Source,
    PlanetoidSource,
    SizeSplit,
    SplitGraphs,
    TUSource,
    WebKBSource,
    WikipediaSource,
    ZINCSource,
)
from graphpe.data.subtokens import SubtokenVocabulary

__all__ = [
    "ZINC",
    "AlchemyGraphs",
    "AlchemySource",
    "Baseline",
    "CSLSource",
    "CycleCounting",
    "DatasetCard",
    "DirectedCitationSource",
    "GNNBenchmarkGraphs",
    "GNNBenchmarkSource",
    "GeneratedGraphs",
    "GraphDataModule",
    "GraphSource",
    "HeterophilousSource",
    "InMemorySource",
    "LRGBGraphs",
    "LRGBSource",
    "NodeSource",
    "OGBGraphs",
    "OGBNodeSource",
    "OGBNodes",
    "OGBSource",
    "PCQM4Mv2Graphs",
    "PCQM4Mv2Source",
    "PlanetoidSource",
    "PythonFunctions",
    "RandomDigraphs",
    "SizeSplit",
    "SortingNetworks",
    "SourceDistance",
    "SplitGraphs",
    "SubtokenVocabulary",
    "TUGraphs",
    "TUSource",
    "WebKBSource",
    "WikipediaSource",
    "ZINCSource",
    "smiles_to_graph",
]
