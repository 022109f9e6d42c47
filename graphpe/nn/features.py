"""From the input features of nodes and edges to vectors."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.tasks import Features

_ATTRIBUTES = {"node": "x", "edge": "edge_attr"}


class FeatureEmbedding(nn.Module):
    """Embeds ``x`` or ``edge_attr``: the sum of one table per integer column, or a linear layer of float columns.

    A one-dimensional attribute is one column; booleans are the categories 0 and 1. Nodes without features all get the
    same learned vector.

    Args:
        features: What the dataset offers.
        channels: Width of the output.
        level: ``"node"`` embeds ``x``, ``"edge"`` embeds ``edge_attr``.

    Raises:
        ValueError: For edges without features; :func:`has_edge_features` tells before.
    """

    def __init__(
        self, features: Features, channels: int, level: Literal["node", "edge"] = "node"
    ) -> None:
        super().__init__()
        self.attribute = _ATTRIBUTES[level]
        self.level = level
        self.categories = tuple(getattr(features, f"{level}_categories"))
        self.continuous = int(getattr(features, f"{level}_continuous"))
        if self.categories:
            # One table for all columns, in which each column has its own rows, is one lookup instead of many.
            self.embedding = nn.EmbeddingBag(sum(self.categories), channels, mode="sum")
            limits = torch.tensor(self.categories)
            self.register_buffer("limits", limits, persistent=False)
            self.register_buffer("first_row", limits.cumsum(0) - limits, persistent=False)
        elif self.continuous:
            self.linear = nn.Linear(self.continuous, channels)
        elif level == "node":
            self.constant = nn.Parameter(torch.randn(channels))
        else:
            raise ValueError("features declares no edge features, so there is nothing to embed")

    def forward(self, data: Data) -> Tensor:
        """Embeds the attribute of a batch.

        Args:
            data: A PyG ``Batch`` or ``Data``.

        Returns:
            ``[rows, channels]``, one row per node or edge.

        Raises:
            ValueError: If the attribute is missing, undeclared, or has another type or number of columns than declared,
                if it has not one row per node or edge, or if a category is out of range.
        """
        values = data.get(self.attribute)
        if not self.categories and not self.continuous:
            if values is not None:
                raise ValueError(
                    f"the batch has 'x' with {_describe(values)}, but features declares no node features; "
                    "declare them in features.node_categories or features.node_continuous, or remove 'x'"
                )
            return self.constant.expand(data.num_nodes, -1)
        if values is None:
            raise ValueError(
                f"the batch has no {self.attribute!r}, but {self._declared()}; "
                "add it to the graphs, or remove it from features"
            )
        # Not data.num_edges, which may be read off edge_attr itself.
        rows = data.num_nodes if self.level == "node" else data.edge_index.size(1)
        if len(values) != rows:
            raise ValueError(
                f"{self.attribute!r} has {len(values)} rows, but the batch has {rows} {self.level}s; "
                f"give one row per {self.level}"
            )
        return self.embed(values)

    def embed(self, values: Tensor) -> Tensor:
        """Embeds rows ``[rows]`` or ``[rows, columns]`` of the attribute."""
        if values.dim() == 1:
            values = values.unsqueeze(1)
        is_float = values.is_floating_point()
        is_declared_kind = is_float if self.continuous else not (is_float or values.is_complex())
        has_columns = values.dim() == 2 and values.size(1) == self.num_columns
        if not (is_declared_kind and has_columns):
            raise ValueError(
                f"{self.attribute!r} has {_describe(values)}, but {self._declared()}; "
                "change features, or the attribute"
            )
        if self.continuous:
            return self.linear(values.to(self.linear.weight.dtype))
        values = values.long()
        self._check_range(values)
        return self.embedding(values + self.first_row)

    @property
    def num_columns(self) -> int:
        """Number of columns of the attribute."""
        return len(self.categories) or self.continuous

    def zeros(self, rows: int) -> Tensor:
        """Embeds ``rows`` rows of zeros: category 0, or the number 0, in each column."""
        like = self.first_row if self.categories else self.linear.weight
        return self.embed(like.new_zeros(1, self.num_columns)).expand(rows, -1)

    def _check_range(self, values: Tensor) -> None:
        outside = (values < 0) | (values >= self.limits)
        if bool(outside.any()):
            row, column = outside.nonzero()[0].tolist()
            raise ValueError(
                f"{self.attribute!r} has category {int(values[row, column])} in column {column} (row {row}), but "
                f"features.{self.level}_categories[{column}] is {self.categories[column]}: "
                f"categories go from 0 to {self.categories[column] - 1}"
            )

    def _declared(self) -> str:
        if self.categories:
            return (
                f"features.{self.level}_categories declares {len(self.categories)} integer columns"
            )
        return f"features.{self.level}_continuous declares {self.continuous} float columns"


def has_edge_features(features: Features) -> bool:
    """Whether the dataset offers features of edges."""
    return bool(features.edge_categories) or features.edge_continuous > 0


def _describe(values: Tensor) -> str:
    dtype = str(values.dtype).removeprefix("torch.")
    if values.dim() > 2:
        return f"shape {list(values.shape)} and dtype {dtype}"
    columns = 1 if values.dim() == 1 else values.size(1)
    return f"{columns} {dtype} column{'s' if columns != 1 else ''}"
