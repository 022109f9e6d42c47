"""Puts computed fields on graphs: as attributes, or behind the columns of ``x``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.graphs import GraphBatch

if TYPE_CHECKING:
    from graphpe.transforms.base import Encoding


def concatenated_field(encoding: Encoding) -> Field | None:
    """The field that goes to ``x``, or None."""
    return encoding.fields()[0] if encoding.attr_name is None else None


def written_fields(encodings: Sequence[Encoding]) -> dict[str, Field]:
    """The fields that encodings leave on a graph as attributes, by name.

    Raises:
        ValueError: If two encodings write the same name.
    """
    fields: dict[str, Field] = {}
    writer: dict[str, Encoding] = {}
    for encoding in encodings:
        for field in encoding.fields():
            if field.name in fields:
                raise ValueError(
                    f"{encoding} and {writer[field.name]} both write {field.name!r}; "
                    "give one of them another attribute name"
                )
            fields[field.name] = field
            writer[field.name] = encoding
        if (joined := concatenated_field(encoding)) is not None:
            del fields[joined.name]
    return fields


def check_concatenation(encodings: Sequence[Encoding], data: Data) -> None:
    """Raise a ValueError where ``attr_name=None`` meets an ``x`` that cannot hold an encoding."""
    joining = [encoding for encoding in encodings if concatenated_field(encoding) is not None]
    x = data.get("x")
    if not joining or x is None:
        return
    if not x.is_floating_point():
        raise ValueError(
            f"{type(joining[0]).__name__}(attr_name=None) concatenates to x, but x is {x.dtype} and would cut the "
            "encoding to whole numbers; give an attr_name, or make x a float tensor first"
        )


def attach(
    data: Data, encodings: Sequence[Encoding], values: dict[str, Tensor], graphs: GraphBatch
) -> None:
    """Put computed fields on a ``Data`` or ``Batch``, so that a batch still splits into its graphs."""
    slices, increments = {}, {}
    for encoding in encodings:
        joined = concatenated_field(encoding)
        for field in encoding.fields():
            if field == joined:
                data.x = join_to_x(data.get("x"), values[field.name])
            else:
                data[field.name] = values[field.name]
            name = "x" if field == joined else field.name
            slices[name] = graphs.rows(field.level)
            increments[name] = torch.zeros(len(graphs), dtype=torch.long)
    if hasattr(data, "_slice_dict"):  # the caller's batch keeps its own bookkeeping
        data._slice_dict = {**data._slice_dict, **slices}
        data._inc_dict = {**data._inc_dict, **increments}


def join_to_x(x: Tensor | None, value: Tensor) -> Tensor:
    """``[n, d + width]``: an encoding behind the columns of ``x``."""
    if x is None:
        return value
    x = x.view(-1, 1) if x.dim() == 1 else x
    return torch.cat([x, value.to(x.device, x.dtype)], dim=-1)
