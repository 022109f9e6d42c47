"""Datasets made by a program from a seed."""

from __future__ import annotations

from graphpe.data.generated.base import GeneratedGraphs
from graphpe.data.generated.cycle_counting import CycleCounting
from graphpe.data.generated.random_digraphs import RandomDigraphs
from graphpe.data.generated.sorting_networks import SortingNetworks
from graphpe.data.generated.source_distance import SourceDistance

__all__ = [
    "CycleCounting",
    "GeneratedGraphs",
    "RandomDigraphs",
    "SortingNetworks",
    "SourceDistance",
]
