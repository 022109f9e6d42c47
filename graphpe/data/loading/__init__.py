"""Batches of graphs: how they are put together, in what order, and by which process."""

from __future__ import annotations

from graphpe.data.loading.batches import GraphBatches, stored_numbers, whole_and_numbers
from graphpe.data.loading.collation import CollatedGraphs, NotCollatable
from graphpe.data.loading.loader import GraphLoader, loader_in_order, loader_of
from graphpe.data.loading.samplers import GraphBatchSampler

__all__ = [
    "CollatedGraphs",
    "GraphBatchSampler",
    "GraphBatches",
    "GraphLoader",
    "NotCollatable",
    "loader_in_order",
    "loader_of",
    "stored_numbers",
    "whole_and_numbers",
]
