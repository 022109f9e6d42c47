"""Encodings from the 1-Hodge Laplacian."""

from __future__ import annotations

__all__ = []
