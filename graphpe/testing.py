"""Contracts as callable tests, for graphpe's own classes and for those of users."""

from __future__ import annotations

from graphpe._testing.encoders import check_encoder
from graphpe._testing.encodings import check_encoding

__all__ = ["check_encoder", "check_encoding"]
