"""Encodings from random node features."""

from __future__ import annotations

__all__ = []
