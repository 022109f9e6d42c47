"""Encodings of heterogeneous graphs: computed on the homogenised graph, written to the node and edge types.

The nodes of a graph are taken type after type, in the order of ``node_types``; all edge types are edges alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.data.storage import BaseStorage

from graphpe.graphs import GraphBatch
from graphpe.ragged import offsets_of
from graphpe.reading import check_edge_index, edge_weight_of, num_nodes_of
from graphpe.transforms.core.attach import (
    Values,
    check_concatenation,
    join_to_x,
    named_values,
)

if TYPE_CHECKING:
    from graphpe.transforms.core.base import Encoding

EdgeType = tuple[str, str, str]


@dataclass(frozen=True)
class Homogenised:
    """A ``HeteroData``, or a batch of them, as homogeneous graphs.

    Attributes:
        graphs: The graphs; their edges are those of one edge type after the other.
        node_rows: For each node type the rows of its nodes in a node field of ``graphs``.
        node_slices: For each node type ``[B + 1]`` offsets of the graphs among its nodes.
        edge_slices: For each edge type ``[B + 1]`` offsets of the graphs among its edges.
    """

    graphs: GraphBatch
    node_rows: dict[str, Tensor]
    node_slices: dict[str, Tensor]
    edge_slices: dict[EdgeType, Tensor]


def homogenise(data: HeteroData, edge_type: EdgeType | None = None) -> Homogenised:
    """The homogeneous graphs of a ``HeteroData`` or a batch of them.

    Args:
        data: The graphs.
        edge_type: Only the edges of this type and the nodes of the types that it joins; None takes all.

    Raises:
        ValueError: If an edge joins nodes that do not exist, or some edge types have weights and others not.
    """
    if not data.node_types:
        raise ValueError("the HeteroData has no node types; give it at least one")
    device = next(
        (store.edge_index.device for store in data.edge_stores if "edge_index" in store), None
    )
    node_types = data.node_types if edge_type is None else dict.fromkeys(edge_type[::2])
    node_slices = {kind: _slices_of_nodes(data, kind) for kind in node_types}
    counts = torch.stack([slices.diff() for slices in node_slices.values()])  # [types, B]
    ptr = offsets_of(counts.sum(0))
    first = ptr[:-1] + counts.cumsum(0) - counts  # of each type in each graph
    node_rows = {}
    for kind, starts, slices in zip(node_slices, first, node_slices.values(), strict=True):
        node = torch.arange(int(slices[-1]))
        graph = torch.searchsorted(slices, node, right=True) - 1
        node_rows[kind] = (starts[graph] + node - slices[graph]).to(device)

    kinds = list(data.edge_types) if edge_type is None else [edge_type]
    edges, weights = [], []
    for kind in kinds:
        ends, weight = _edges_of(data, kind, node_slices)
        edges.append(torch.stack([node_rows[kind[0]][ends[0]], node_rows[kind[2]][ends[1]]]))
        weights.append(weight)
    _check_all_weighted(kinds, weights)
    joined = Data(
        edge_index=torch.cat(edges, dim=1) if edges else torch.empty(2, 0, dtype=torch.long),
        num_nodes=int(ptr[-1]),
        batch=torch.repeat_interleave(counts.sum(0)).to(device),
        ptr=ptr,
    )
    if weights and weights[0] is not None:
        joined.edge_weight = torch.cat([weight for weight in weights if weight is not None])
    ends_of_graphs = ptr.to(joined.edge_index.device)
    edge_slices = {
        kind: offsets_of(
            torch.bincount(
                torch.searchsorted(ends_of_graphs, ends[0].contiguous(), right=True) - 1,
                minlength=len(ptr) - 1,
            ).cpu()
        )
        for kind, ends in zip(kinds, edges, strict=True)
    }
    return Homogenised(GraphBatch.from_batch(joined), node_rows, node_slices, edge_slices)


def attach_hetero(
    data: HeteroData,
    encodings: Sequence[Encoding],
    values: Values,
    homogenised: Homogenised,
    suffix: str = "",
) -> None:
    """Put computed fields on a ``HeteroData`` or a batch of them, their names followed by ``suffix``.

    Node fields go to the node types, edge fields to the edge types, pair and graph fields to the ``HeteroData``.
    """
    graphs = homogenised.graphs
    for name, field, value in named_values(encodings, values):
        field = dataclasses.replace(field, name=field.name + suffix)
        if field.level == "node":
            for kind, rows in homogenised.node_rows.items():
                own = value[rows]
                if name is None:
                    own = join_to_x(data[kind].get("x"), own)
                _put(
                    data,
                    kind,
                    "x" if name is None else field.name,
                    own,
                    homogenised.node_slices[kind],
                )
        elif field.level == "edge":
            parts = value.split([int(s[-1]) for s in homogenised.edge_slices.values()])
            for (kind, slices), own in zip(homogenised.edge_slices.items(), parts, strict=True):
                _put(data, kind, field.name, own, slices)
        else:
            _put(data, None, field.name, value, graphs.rows(field.level))


def attach_hetero_rows(
    data: HeteroData,
    number: int,
    encodings: Sequence[Encoding],
    values: Values,
    homogenised: Homogenised,
) -> HeteroData:
    """Put the rows of one graph of a batch on its ``HeteroData``, and return that."""
    edge_starts = offsets_of(torch.tensor([int(s[-1]) for s in homogenised.edge_slices.values()]))
    for name, field, value in named_values(encodings, values):
        if field.level == "node":
            for kind, rows in homogenised.node_rows.items():
                start, end = homogenised.node_slices[kind][number : number + 2].tolist()
                own = value[rows[start:end]]
                store = data[kind]
                store[name or "x"] = join_to_x(store.get("x"), own) if name is None else own
        elif field.level == "edge":
            for offset, (kind, slices) in zip(
                edge_starts.tolist(), homogenised.edge_slices.items(), strict=False
            ):
                start, end = (offset + slices[number : number + 2]).tolist()
                data[kind][field.name] = value[start:end].clone()
        else:
            start, end = homogenised.graphs.rows(field.level)[number : number + 2].tolist()
            data[field.name] = value[start:end].clone()
    return data


def check_hetero_concatenation(encodings: Sequence[Encoding], data: HeteroData) -> None:
    """Raises where ``attr_name=None`` meets an ``x`` that cannot hold an encoding."""
    for kind in data.node_types:
        store = data[kind]
        if store.get("x") is not None:
            check_concatenation(encodings, Data(x=store.x, num_nodes=store.num_nodes))


def _put(
    data: HeteroData, kind: str | EdgeType | None, name: str, value: Tensor, slices: Tensor
) -> None:
    store: BaseStorage = data._global_store if kind is None else data[kind]
    store[name] = value
    # A batch keeps books of how it splits, here because a HeteroData reads names that end in _dict in its own way.
    books: dict[str, Any] = data._global_store.__dict__
    if "_slice_dict" not in books:
        return
    increments = torch.zeros(len(slices) - 1, dtype=torch.long)
    for book, entry in (("_slice_dict", slices), ("_inc_dict", increments)):
        old = books[book]  # the caller's: left as it is
        page = {name: entry} if kind is None else {kind: {**old.get(kind, {}), name: entry}}
        books[book] = {**old, **page}


def _slices_of_nodes(data: HeteroData, kind: str) -> Tensor:
    store = data[kind]
    if store.num_nodes is None:
        raise ValueError(
            f"node type {kind!r} has no features that tell its number of nodes; set data[{kind!r}].num_nodes"
        )
    total = num_nodes_of(store)
    if not isinstance(data, Batch):
        return torch.tensor([0, total])
    ptr = store.get("ptr")
    if ptr is None or int(ptr[-1]) != total:
        raise ValueError(
            f"node type {kind!r} of the batch has {total} nodes but no ptr that says so; make the batch with "
            "Batch.from_data_list and do not change its nodes"
        )
    return ptr.cpu()


def _edges_of(
    data: HeteroData, kind: EdgeType, node_slices: dict[str, Tensor]
) -> tuple[Tensor, Tensor | None]:
    store = data[kind]
    try:
        part = Data(edge_index=store.get("edge_index"), edge_weight=store.get("edge_weight"))
        check_edge_index(part)
        weight = edge_weight_of(part)
    except (TypeError, ValueError) as error:
        raise type(error)(f"edge type {kind}: {error}") from None
    edge_index = part.edge_index
    if weight is not None and len(weight) != edge_index.shape[1]:
        raise ValueError(
            f"edge_weight of edge type {kind} has {len(weight)} entries for {edge_index.shape[1]} edges; give one "
            "weight per edge"
        )
    for ends, node_type in zip(edge_index, (kind[0], kind[2]), strict=True):
        total = int(node_slices[node_type][-1]) if node_type in node_slices else 0
        outside = (ends < 0) | (ends >= total)
        if bool(outside.any()):
            raise ValueError(
                f"edge_index of edge type {kind} names node {int(ends[outside][0])} of type {node_type!r}, which has "
                f"{total} nodes; correct edge_index or num_nodes"
            )
    return edge_index, weight


def _check_all_weighted(kinds: list[EdgeType], weights: list[Tensor | None]) -> None:
    weighted = [weight is not None for weight in weights]
    if any(weighted) and not all(weighted):
        raise ValueError(
            f"edge type {kinds[weighted.index(False)]} has no edge_weight but {kinds[weighted.index(True)]} has; give "
            "weights to all edge types or to none"
        )
