"""Encodings of whole datasets in bulk."""

from __future__ import annotations

from graphpe.precompute.cache.filling import Share
from graphpe.precompute.encode import encode
from graphpe.precompute.encoded import EncodedDataset, EncodedList
from graphpe.precompute.fill_cache import CacheReport, FilledEntry, fill_cache

__all__ = [
    "CacheReport",
    "EncodedDataset",
    "EncodedList",
    "FilledEntry",
    "Share",
    "encode",
    "fill_cache",
]
