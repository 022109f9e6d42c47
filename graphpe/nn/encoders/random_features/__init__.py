"""Encoders that start from random numbers per node."""

from __future__ import annotations

from graphpe.nn.encoders.random_features.base import RandomFeatureEncoder
from graphpe.nn.encoders.random_features.pearl import BasisPEARL, RandomPEARL
from graphpe.nn.encoders.random_features.propagation import RandomFeaturePropagation

__all__ = ["BasisPEARL", "RandomFeatureEncoder", "RandomFeaturePropagation", "RandomPEARL"]
