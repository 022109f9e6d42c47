"""Encodings from the Hodge Laplacian of the edges."""

from __future__ import annotations

from graphpe.transforms.hodge.betti_numbers import AddBettiNumberSE
from graphpe.transforms.hodge.edge_coordinates import AddHodgePE

__all__ = ["AddBettiNumberSE", "AddHodgePE"]
