"""Encoders that exist for attention: biases of logits, and angles of queries and keys."""

from __future__ import annotations

from graphpe.nn.encoders.attention.functional_distance_bias import FunctionalDistanceBias
from graphpe.nn.encoders.attention.graphormer import GraphormerBias
from graphpe.nn.encoders.attention.rotary import RotaryEncoder

__all__ = ["FunctionalDistanceBias", "GraphormerBias", "RotaryEncoder"]
