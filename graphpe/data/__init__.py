"""Datasets, and their encodings and batches for Lightning."""

from __future__ import annotations

from graphpe.data.card import Baseline, DatasetCard
from graphpe.data.module import GraphDataModule
from graphpe.data.ogb import OGBGraphs
from graphpe.data.sources import (
    GraphSource,
    InMemorySource,
    OGBSource,
    SplitGraphs,
    ZINCSource,
)
from graphpe.data.zinc import ZINC

__all__ = [
    "ZINC",
    "Baseline",
    "DatasetCard",
    "GraphDataModule",
    "GraphSource",
    "InMemorySource",
    "OGBGraphs",
    "OGBSource",
    "SplitGraphs",
    "ZINCSource",
]
