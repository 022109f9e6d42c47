"""Collated graphs as plain tensors, for saving without pickled classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.collate import collate

# PyG keeps the node count of each graph here, outside of what ``Data.to_dict`` gives.
_NODE_COUNTS = "_num_nodes"

_concatenation_dim = Data().__cat_dim__

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


def pack_graphs(graphs: Sequence[Data]) -> Packed:
    """Graphs with the same attributes as `pack` gives them; no graphs give no columns.

    Raises:
        ValueError: If a graph has other attributes than the first one, or of another kind. PyG would leave them out.
    """
    if not graphs:
        return {}, {}
    require_alike(graphs)
    data, slices, _ = collate(Data, list(graphs), increment=False, add_batch=False)
    return pack(data, dict(slices))


def require_alike(graphs: Iterable[Data]) -> None:
    """Refuses graphs that can't be in one batch.

    Raises:
        ValueError: If a graph has other attributes than the first one, or of another kind. PyG would leave them out, or
            fail in the middle of training, depending on the order of the graphs.
    """
    _require_alike((f"graph {number}", graph.to_dict()) for number, graph in enumerate(graphs))


def number_of_graphs(packed: Packed) -> int:
    """How many graphs there are in what `pack` gives."""
    _, slices = packed
    return len(next(iter(slices.values()))) - 1 if slices else 0


def join(parts: Mapping[str, Packed]) -> Packed:
    """Puts packed graphs one after the other, without making single ones of them.

    Args:
        parts: What `pack_graphs` gives, by a name for errors; with at least one graph.

    Raises:
        ValueError: If a part has other attributes than the first one, or of another kind.
    """
    filled = {name: part for name, part in parts.items() if number_of_graphs(part)}
    _require_alike((name, columns) for name, (columns, _) in filled.items())
    first, first_slices = next(iter(filled.values()))
    joined: dict[str, Any] = {}
    for name in first:
        values = [columns[name] for columns, _ in filled.values()]
        if name == "num_nodes":  # of all graphs together
            joined[name] = sum(values)
        elif isinstance(values[0], Tensor):
            joined[name] = torch.cat(values, dim=_concatenation_dim(name, values[0]))
        else:
            joined[name] = [item for value in values for item in value]
    slices = {}
    for name in first_slices:
        lengths = torch.cat([slices_of_part[name].diff() for _, slices_of_part in filled.values()])
        slices[name] = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return joined, slices


def _require_alike(named: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    first_name, first = "", None
    for name, columns in named:
        kinds = {attribute: _kind(attribute, value) for attribute, value in columns.items()}
        if first is None:
            first_name, first = name, kinds
        elif kinds.keys() != first.keys():
            raise ValueError(
                f"{name} has the attributes {_names(kinds)}, but {first_name} {_names(first)}; give all graphs the "
                "same attributes"
            )
        elif kinds != first:
            attribute = next(
                attribute for attribute in kinds if kinds[attribute] != first[attribute]
            )
            raise ValueError(
                f"{attribute} of {name} is {kinds[attribute]}, but that of {first_name} {first[attribute]}; make them "
                "alike"
            )


def _kind(attribute: str, value: Any) -> str:
    """What values of an attribute have in common if they can be put one after the other."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    shape = [str(size) for size in value.shape]
    if shape:
        shape[_concatenation_dim(attribute, value)] = "any"
    return f"{value.dtype} [{', '.join(shape)}]"


def _names(columns: Iterable[str]) -> list[str]:
    return sorted(set(columns) - {_NODE_COUNTS})
