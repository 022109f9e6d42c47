"""PCQM4Mv2, the largest molecular dataset of the Open Graph Benchmark, read from memory-mapped files."""

from __future__ import annotations

from graphpe.data.downloaded.pcqm4mv2.graphs import PCQM4Mv2Graphs

__all__ = ["PCQM4Mv2Graphs"]
