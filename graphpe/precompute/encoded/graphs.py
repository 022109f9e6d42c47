"""Single graphs with the fields that were computed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.precompute.encoded.mapped import MappedField
from graphpe.precompute.sizes import Sizes
from graphpe.ragged import ragged_arange
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, join_to_x, named_values


class EncodedList(list[Data]):
    """A list of graphs that carry fields; a slice of it is one, too.

    Args:
        graphs: The graphs.
        fields: The fields that each graph has.
    """

    def __init__(self, graphs: Iterable[Data], fields: dict[str, Field]) -> None:
        super().__init__(graphs)
        self.fields = fields

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return EncodedList(item, self.fields) if isinstance(index, slice) else item


def attach_rows(
    data: Data, number: int, encodings: Sequence[Encoding], values: Values, sizes: Sizes
) -> Data:
    """A copy of one graph with its own rows of the fields (no views, which would keep all graphs in memory).

    Args:
        data: The graph.
        number: Its number among those that were encoded.
        encodings: The encodings.
        values: For each encoding the values of its fields, of all graphs.
        sizes: How large each graph is.
    """
    device = data.edge_index.device
    data = copy.copy(data)
    for name, field, value in named_values(encodings, values):
        start, end = sizes.rows(field.level)[number : number + 2].tolist()
        own = value[start:end].to(device, copy=True)
        if name is None:
            data.x = join_to_x(data.get("x"), own)
        else:
            data[name] = own
    return data


def rows_of_graphs(value: Tensor | MappedField, rows: Tensor, numbers: Tensor) -> Tensor:
    """The rows of some graphs in a field, one graph after the other; a copy.

    Args:
        value: The field.
        rows: ``[graphs + 1]`` where each graph starts in it.
        numbers: int64 ``[B]``.
    """
    if isinstance(value, MappedField):
        return value.of_graphs(numbers)
    slot, offset = ragged_arange(rows.diff()[numbers])
    return value[(rows[numbers][slot] + offset).to(value.device)]
