"""Encodings that draw random numbers."""

from __future__ import annotations

from graphpe.transforms.random_features.node_features import AddRandomFeaturesPE
from graphpe.transforms.random_features.propagation import AddRandomFeaturePropagation

__all__ = ["AddRandomFeaturePropagation", "AddRandomFeaturesPE"]
