"""Structural encodings: degrees, cycles, homomorphisms, colours."""

from __future__ import annotations

__all__ = []
