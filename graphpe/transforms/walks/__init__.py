"""Encodings from random walks."""

from __future__ import annotations

from graphpe.transforms.walks.pagerank import AddPersonalizedPageRankPE
from graphpe.transforms.walks.relative_walks import AddRelativeRandomWalkPE
from graphpe.transforms.walks.return_probabilities import AddRandomWalkPE

__all__ = ["AddPersonalizedPageRankPE", "AddRandomWalkPE", "AddRelativeRandomWalkPE"]
