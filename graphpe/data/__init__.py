"""Datasets, and their encodings and batches for Lightning."""

from __future__ import annotations

from graphpe.data.card import Baseline, DatasetCard
from graphpe.data.generated import (
    CycleCounting,
    GeneratedGraphs,
    RandomDigraphs,
    SortingNetworks,
    SourceDistance,
)
from graphpe.data.module import GraphDataModule
from graphpe.data.ogb import OGBGraphs
from graphpe.data.source_code import PythonFunctions
from graphpe.data.sources import (
    GraphSource,
    InMemorySource,
    OGBSource,
    SplitGraphs,
    ZINCSource,
)
from graphpe.data.subtokens import SubtokenVocabulary
from graphpe.data.zinc import ZINC

__all__ = [
    "ZINC",
    "Baseline",
    "CycleCounting",
    "DatasetCard",
    "GeneratedGraphs",
    "GraphDataModule",
    "GraphSource",
    "InMemorySource",
    "OGBGraphs",
    "OGBSource",
    "PythonFunctions",
    "RandomDigraphs",
    "SortingNetworks",
    "SourceDistance",
    "SplitGraphs",
    "SubtokenVocabulary",
    "ZINCSource",
]
