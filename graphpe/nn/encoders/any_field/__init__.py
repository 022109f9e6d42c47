"""Encoders of any field of nodes or of pairs, for those without symmetry."""

from __future__ import annotations

from graphpe.nn.encoders.any_field.diagonal import DiagonalEncoder
from graphpe.nn.encoders.any_field.embedding import EmbeddingEncoder
from graphpe.nn.encoders.any_field.node_encoder import NodeEncoder
from graphpe.nn.encoders.any_field.pair_encoder import PairEncoder

__all__ = ["DiagonalEncoder", "EmbeddingEncoder", "NodeEncoder", "PairEncoder"]
