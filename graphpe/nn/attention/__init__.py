"""Kinds of attention between the nodes of each graph."""

from __future__ import annotations

from graphpe.nn.attention.base import AttentionPlaces, GlobalAttention
from graphpe.nn.attention.dense import AttentionKernel, DenseAttention
from graphpe.nn.attention.expander import ExpanderAttention
from graphpe.nn.attention.linear import LinearAttention

__all__ = [
    "AttentionKernel",
    "AttentionPlaces",
    "DenseAttention",
    "ExpanderAttention",
    "GlobalAttention",
    "LinearAttention",
]
