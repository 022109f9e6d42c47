"""Puts computed fields on graphs: as attributes, or behind the columns of ``x``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.graphs import GraphBatch

if TYPE_CHECKING:
    from graphpe.transforms.core.base import Encoding

# The values of all encodings, as `compute_fields` gives them.
Values = Sequence[tuple[Tensor, ...]]


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
        joined = concatenated_field(encoding)
        for field in encoding.fields():
            if field == joined:
                continue
            if field.name in fields:
                raise ValueError(
                    f"{encoding} and {writer[field.name]} both write {field.name!r}; "
                    "give one of them another attribute name"
                )
            fields[field.name] = field
            writer[field.name] = encoding
    return fields


def named_values(
    encodings: Sequence[Encoding], values: Values
) -> Iterator[tuple[str | None, Field, Tensor]]:
    """Attribute name (None for ``x``), field and value of everything that was computed."""
    for encoding, tensors in zip(encodings, values, strict=True):
        joined = concatenated_field(encoding)
        for field, value in zip(encoding.fields(), tensors, strict=True):
            yield (None if field == joined else field.name), field, value


def check_concatenation(
    encodings: Sequence[Encoding], data: Data, number: int | None = None
) -> None:
    """Raises where ``attr_name=None`` meets an ``x`` that cannot hold an encoding."""
    joining = [encoding for encoding in encodings if concatenated_field(encoding) is not None]
    x = data.get("x")
    if not joining or x is None:
        return
    what = f"{type(joining[0]).__name__}(attr_name=None) concatenates to x"
    where = "" if number is None else f" of graph {number}"
    if not isinstance(x, Tensor) or x.layout != torch.strided or x.dim() not in (1, 2):
        got = f"shape {list(x.shape)}" if isinstance(x, Tensor) else f"type {type(x).__name__}"
        raise ValueError(f"{what}, but x{where} has {got}; wanted a dense tensor [n] or [n, d]")
    if not x.is_floating_point():
        raise ValueError(
            f"{what}, but x{where} is {x.dtype}, which cannot hold it; give an attr_name, or make x a float tensor "
            "first"
        )
    if len(x) != data.num_nodes:
        raise ValueError(f"{what}, but x{where} has {len(x)} rows for {data.num_nodes} nodes")


def attach(data: Data, encodings: Sequence[Encoding], values: Values, graphs: GraphBatch) -> None:
    """Put computed fields on a ``Data`` or ``Batch``, so that a batch still splits into its graphs."""
    slices, increments = {}, {}
    for name, field, value in named_values(encodings, values):
        if name is None:
            data.x = join_to_x(data.get("x"), value)
        else:
            data[name] = value
        slices[name or "x"] = graphs.rows(field.level)
        increments[name or "x"] = torch.zeros(len(graphs), dtype=torch.long)
    if hasattr(data, "_slice_dict"):  # the caller's batch keeps its own bookkeeping
        data._slice_dict = {**data._slice_dict, **slices}
        data._inc_dict = {**data._inc_dict, **increments}


def join_to_x(x: Tensor | None, value: Tensor) -> Tensor:
    """``[n, d + width]``: an encoding behind the columns of ``x``."""
    if x is None:
        return value
    x = x.view(-1, 1) if x.dim() == 1 else x
    return torch.cat([x, value.to(x.device, x.dtype)], dim=-1)
