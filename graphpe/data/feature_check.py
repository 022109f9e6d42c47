"""Do the declared input features fit the graphs?"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphpe.tasks import Features


def check_features(features: Features, graphs: InMemoryDataset | Iterable[Data]) -> None:
    """Checks that ``x`` and ``edge_attr`` are as declared.

    Args:
        features: The declaration. A level without columns is not looked at. Booleans are the categories 0 and 1.
        graphs: A dataset or list of graphs.

    Raises:
        ValueError: With the attribute, what it is, what was declared, and the graph number where it is about one.
    """
    levels = (
        ("x", "node", features.node_categories, features.node_continuous, features.node_ordinal),
        ("edge_attr", "edge", features.edge_categories, features.edge_continuous, 0),
    )
    for attribute, level, categories, continuous, ordinal in levels:
        if not (categories or continuous or ordinal):
            continue
        values, rows = _column_of(graphs, attribute)
        if categories:
            _check_categories(attribute, f"features.{level}_categories", values, rows, categories)
        elif ordinal:
            _check_ordinal(attribute, f"features.{level}_ordinal", values, rows, ordinal)
        else:
            _check_continuous(attribute, f"features.{level}_continuous", values, continuous)


def _column_of(graphs: InMemoryDataset | Iterable[Data], attribute: str) -> tuple[Tensor, Tensor]:
    """An attribute of all graphs as ``[rows, columns]``, and ``[graphs + 1]`` offsets of the graphs in it."""
    if (
        isinstance(graphs, InMemoryDataset)
        and graphs.slices is not None
        and graphs._indices is None
    ):
        values, rows = graphs._data.get(attribute), graphs.slices.get(attribute)
        missing = 0 if values is None else None
    else:
        parts = [graph.get(attribute) for graph in graphs]
        missing = next((number for number, part in enumerate(parts) if part is None), None)
        if missing is None:
            counts = torch.tensor([0] + [len(part) for part in parts])
            values, rows = torch.cat(parts), counts.cumsum(0)
    if missing is not None:
        raise ValueError(
            f"graph {missing} has no {attribute}, for which features are declared; correct `features`"
        )
    return (values[:, None] if values.dim() == 1 else values.flatten(1)), rows


def _check_categories(
    attribute: str, declared: str, values: Tensor, rows: Tensor, categories: tuple[int, ...]
) -> None:
    _require_integers(attribute, declared, values)
    if values.shape[1] != len(categories):
        raise ValueError(
            f"{attribute} has {values.shape[1]} columns, but {declared} has {len(categories)} entries; give one "
            "number of categories per column"
        )
    limits = torch.tensor(categories, device=values.device)
    # Extremes first: they take no memory, where masks of millions of graphs would.
    if values.numel() and bool(((values.amin(0) < 0) | (values.amax(0) >= limits)).any()):
        row, column, graph = _position((values < 0) | (values >= limits), rows)
        raise ValueError(
            f"{attribute} of graph {graph} has the value {int(values[row, column])} in column {column}, but "
            f"{declared}[{column}] is {categories[column]}, for values 0 to {categories[column] - 1}"
        )


def _check_ordinal(
    attribute: str, declared: str, values: Tensor, rows: Tensor, columns: int
) -> None:
    _require_integers(attribute, declared, values)
    if values.shape[1] != columns:
        raise ValueError(f"{attribute} has {values.shape[1]} columns, but {declared} is {columns}")
    if values.numel() and int(values.min()) < 0:
        row, column, graph = _position(values < 0, rows)
        raise ValueError(
            f"{attribute} of graph {graph} has the value {int(values[row, column])} in column {column}, but "
            f"{declared} wants whole numbers from 0 on; shift {attribute}, or declare continuous features"
        )


def _check_continuous(attribute: str, declared: str, values: Tensor, columns: int) -> None:
    if not values.is_floating_point():
        raise ValueError(
            f"{attribute} is {values.dtype}, but {declared} wants floats; declare categories instead, "
            f"or convert {attribute}"
        )
    if values.shape[1] != columns:
        raise ValueError(f"{attribute} has {values.shape[1]} columns, but {declared} is {columns}")


def _require_integers(attribute: str, declared: str, values: Tensor) -> None:
    if values.is_floating_point() or values.is_complex():
        raise ValueError(
            f"{attribute} is {values.dtype}, but {declared} wants integers; declare continuous features instead, "
            f"or convert {attribute}"
        )


def _position(wrong: Tensor, rows: Tensor) -> tuple[int, int, int]:
    """Row, column and graph of the first wrong value."""
    row, column = wrong.nonzero()[0].tolist()
    return row, column, int(torch.searchsorted(rows, row, right=True)) - 1
