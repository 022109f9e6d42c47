"""Encoders that are trained on one dataset and used on any other."""

from __future__ import annotations

from graphpe.nn.encoders.pretrained.encoder_file import load_encoder, save_encoder
from graphpe.nn.encoders.pretrained.pretrained_encoder import PretrainedEncoder
from graphpe.nn.encoders.pretrained.structural_encoder import StructuralEncoder

__all__ = ["PretrainedEncoder", "StructuralEncoder", "load_encoder", "save_encoder"]
