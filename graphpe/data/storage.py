"""Collated graphs as plain tensors, for saving without pickled classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

# PyG keeps the node count of each graph here, outside of what ``Data.to_dict`` gives.
_NODE_COUNTS = "_num_nodes"

Packed = tuple[dict[str, Any], dict[str, Tensor]]


def pack(data: Data, slices: dict[str, Tensor]) -> Packed:
    """What ``InMemoryDataset.collate`` returns, as tensors, numbers, lists and dictionaries."""
    columns = data.to_dict()
    counts = getattr(data, _NODE_COUNTS, None)
    if counts is not None:
        columns[_NODE_COUNTS] = torch.as_tensor(counts)
    return columns, slices


def unpack(columns: dict[str, Any]) -> Data:
    """The ``Data`` of `pack`."""
    columns = dict(columns)
    counts = columns.pop(_NODE_COUNTS, None)
    data = Data.from_dict(columns)
    if counts is not None:
        data._store._num_nodes = counts.tolist()
    return data
