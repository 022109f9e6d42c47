"""Datasets with the fields that were computed."""

from graphpe.precompute.encoded.dataset import EncodedDataset
from graphpe.precompute.encoded.graphs import EncodedList, attach_rows
from graphpe.precompute.encoded.layers import AddedField, Layers, layers_of
from graphpe.precompute.encoded.mapped import MappedEntry, MappedField
from graphpe.precompute.encoded.storage import attach_to_storage

__all__ = [
    "AddedField",
    "EncodedDataset",
    "EncodedList",
    "Layers",
    "MappedEntry",
    "MappedField",
    "attach_rows",
    "attach_to_storage",
    "layers_of",
]
