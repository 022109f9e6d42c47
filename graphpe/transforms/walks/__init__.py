"""Encodings from random walks."""

from __future__ import annotations

from graphpe.transforms.walks.return_probabilities import AddRandomWalkPE

__all__ = ["AddRandomWalkPE"]
