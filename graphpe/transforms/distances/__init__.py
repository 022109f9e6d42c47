"""Encodings from distances."""

from __future__ import annotations

__all__ = []
