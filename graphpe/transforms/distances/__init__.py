"""Encodings from distances."""

from __future__ import annotations

from graphpe.transforms.distances.landmarks import AddLandmarkDistancePE
from graphpe.transforms.distances.reachability import AddReachabilityPE
from graphpe.transforms.distances.shortest_path import AddShortestPathPE
from graphpe.transforms.distances.shortest_path_edges import AddShortestPathEdgePE

__all__ = [
    "AddLandmarkDistancePE",
    "AddReachabilityPE",
    "AddShortestPathEdgePE",
    "AddShortestPathPE",
]
