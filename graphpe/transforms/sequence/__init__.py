"""Encodings by an order of the nodes, as sequences have them."""

from __future__ import annotations

from graphpe.transforms.sequence.distance_decay import AddDistanceDecayPE
from graphpe.transforms.sequence.ordered_subset import AddOrderedSubsetPE
from graphpe.transforms.sequence.sinusoidal import AddSinusoidalPE
from graphpe.transforms.sequence.topological_order import AddTopologicalOrderPE

__all__ = [
    "AddDistanceDecayPE",
    "AddOrderedSubsetPE",
    "AddSinusoidalPE",
    "AddTopologicalOrderPE",
]
