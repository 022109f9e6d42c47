"""Bulk encoding of datasets of ``HeteroData``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.precompute.encoded import MappedField
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values
from graphpe.transforms.core.hetero import (
    Homogenised,
    attach_hetero_rows,
    check_hetero_concatenation,
    homogenise,
)


def homogenise_all(graphs: Sequence[HeteroData], encodings: Sequence[Encoding]) -> Homogenised:
    """The homogeneous graphs of a list of ``HeteroData``.

    Raises:
        TypeError, ValueError: If a graph is of another kind, or has other types than the first.
    """
    kinds = None
    for number, data in enumerate(graphs):
        if not isinstance(data, HeteroData) or isinstance(data, Batch):
            raise TypeError(
                f"graph {number} is a {type(data).__name__}, but graph 0 is a HeteroData; give graphs of one kind"
            )
        own = (data.node_types, data.edge_types)
        kinds = kinds or own
        if own != kinds:
            raise ValueError(
                f"graph {number} has the types {own}, but graph 0 has {kinds}; give all graphs the same node and edge "
                "types (a type may be empty)"
            )
        check_hetero_concatenation(encodings, data)
    return homogenise(Batch.from_data_list([_structure(data) for data in graphs]))


def with_fields(
    graphs: Sequence[HeteroData],
    encodings: Sequence[Encoding],
    values: Values,
    homogenised: Homogenised,
) -> Iterator[HeteroData]:
    """Copies of the graphs that have their rows of the fields."""
    for number, data in enumerate(graphs):
        yield attach_hetero_rows(copy.copy(data), number, encodings, values, homogenised)


def in_edge_order(
    values: Values, encodings: Sequence[Encoding], graphs: GraphBatch
) -> list[tuple[Tensor, ...]]:
    """Values in memory, on the device of the graphs, those of edges in the order of the caller's edge list.

    The cache has the edges in the order of the graphs; what is computed in memory is in the caller's order already.
    """
    place = None if graphs.edge_order is None else graphs.edge_order.argsort()

    def in_order(field: Field, value: Tensor | MappedField) -> Tensor:
        if isinstance(value, Tensor):
            return value
        value = value[:].to(graphs.device)
        return value if place is None or field.level != "edge" else value[place]

    return [
        tuple(map(in_order, encoding.fields(), own))
        for encoding, own in zip(encodings, values, strict=True)
    ]


def dataset_of(
    dataset: InMemoryDataset, graphs: list[HeteroData], fields: dict[str, Field]
) -> InMemoryDataset:
    """A dataset of the class of ``dataset`` with other graphs."""
    result = copy.copy(dataset)
    result._data, result.slices = dataset.collate(graphs)
    result._indices = None
    result._data_list = None
    result.fields = {**dataset.__dict__.get("fields", {}), **fields}
    return result


def _structure(data: HeteroData) -> HeteroData:
    """Nodes, edges and weights alone: all that encodings look at, and nothing that PyG could fail to collate."""
    bare = HeteroData()
    for kind in data.node_types:
        bare[kind].num_nodes = data[kind].num_nodes
    for kind in data.edge_types:
        for name in ("edge_index", "edge_weight"):
            if data[kind].get(name) is not None:
                bare[kind][name] = data[kind][name]
    return bare


def is_hetero(graphs: Sequence[Data | HeteroData]) -> bool:
    """Whether a list begins with a ``HeteroData``."""
    return len(graphs) > 0 and isinstance(graphs[0], HeteroData)
