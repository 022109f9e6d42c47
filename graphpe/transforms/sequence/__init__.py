"""Encodings of sequences carried to graphs."""

from __future__ import annotations

__all__ = []
