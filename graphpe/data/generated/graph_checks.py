"""What a program's graphs must be so that they can be kept and learned from."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.data.storage import Packed


def require_graphs(graphs: object) -> None:
    """Checks what ``generate`` gives, before it is packed.

    Raises:
        TypeError: If it is not a list of ``Data``, or an attribute can't be kept in a file.
    """
    if not isinstance(graphs, list | tuple):
        raise TypeError(f"generate gives {_article(graphs)}; it must give a list of Data")
    for number, graph in enumerate(graphs):
        if not isinstance(graph, Data):
            raise TypeError(
                f"graph {number} that generate gives is {_article(graph)}; it must be a Data"
            )
        for name, value in graph.to_dict().items():
            if not _can_be_kept(value):
                raise TypeError(
                    f"{name} of graph {number} is {_article(value)}; only dense tensors, numbers, strings, and lists "
                    "of numbers and strings can be kept: make it one of these"
                )


def require_attributes(packed: Packed) -> None:
    """Checks the attributes that all graphs have.

    Raises:
        ValueError: If one is missing that is needed, or ``y`` is complex.
    """
    columns, _ = packed
    if not columns:
        return
    has_all = all(isinstance(columns.get(name), Tensor) for name in ("y", "edge_index"))
    has_nodes = isinstance(columns.get("x"), Tensor) or "num_nodes" in columns
    if not (has_all and has_nodes):
        raise ValueError(
            f"the graphs have the attributes {sorted(columns.keys() - {'_num_nodes'})}; they need edge_index, a tensor "
            "y, and x or num_nodes"
        )
    if columns["y"].is_complex():
        raise ValueError(
            f"y is {columns['y'].dtype}; targets must be real: give torch.view_as_real(y).flatten(-2) or y.abs()"
        )


def _can_be_kept(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.layout == torch.strided
    return isinstance(value, int | float) or _is_plain(value)


def _is_plain(value: object) -> bool:
    # The very types, since a file without pickled classes holds no subclass, such as NumPy's numbers.
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _article(value: object) -> str:
    """What a value is, for a message."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a tensor of layout {value.layout}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of other things"
    return f"a {type(value).__name__}"
