"""Single graphs with the fields that were computed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.precompute.sizes import Sizes
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
        if name is None:
            data.x = join_to_x(data.get("x"), value[start:end])
        else:
            data[name] = value[start:end].to(device, copy=True)
    return data
