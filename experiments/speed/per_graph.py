"""A function of one graph as a transform that one gives to a PyG dataset as its ``pre_transform``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphpe import Field


class PreTransform(BaseTransform):
    """Writes what a function gives for one graph as tensors of the shapes and dtypes that graphpe writes.

    Args:
        function: From a graph to an array or tensor, or to several.
        fields: The names, widths and dtypes to write them in; those beyond what the function gives are not written.
    """

    def __init__(self, function: Callable[[Data], Any], fields: Sequence[Field]) -> None:
        self.function = function
        self.fields = fields

    def forward(self, data: Data) -> Data:
        values = self.function(data)
        for field, value in zip(
            self.fields, values if isinstance(values, tuple) else (values,), strict=False
        ):
            tensor = value if isinstance(value, Tensor) else torch.from_numpy(value)
            data[field.name] = tensor.to(field.dtype).reshape(-1, *field.row_shape)
        return data
