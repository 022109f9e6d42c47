"""Encodings from random walks."""

from __future__ import annotations

from graphpe.transforms.walks.directed_walks import AddDirectedRandomWalkPE
from graphpe.transforms.walks.pagerank import AddPersonalizedPageRankPE
from graphpe.transforms.walks.relative_walks import AddRelativeRandomWalkPE
from graphpe.transforms.walks.return_probabilities import AddRandomWalkPE
from graphpe.transforms.walks.walk_profile import AddWalkProfilePE

__all__ = [
    "AddDirectedRandomWalkPE",
    "AddPersonalizedPageRankPE",
    "AddRandomWalkPE",
    "AddRelativeRandomWalkPE",
    "AddWalkProfilePE",
]
