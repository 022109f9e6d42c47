"""Encodings of whole datasets in bulk."""

from __future__ import annotations

from graphpe.precompute.encode import encode
from graphpe.precompute.encoded import EncodedDataset, EncodedList

__all__ = ["EncodedDataset", "EncodedList", "encode"]
