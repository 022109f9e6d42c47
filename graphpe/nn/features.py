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

    Ordinal columns of ``x`` become sinusoids, see :class:`Sinusoids`, and go through a linear layer. A one-dimensional
    attribute is one column; booleans are the categories 0 and 1. Nodes without features all get the same learned
    vector.

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
        self.ordinal = int(features.node_ordinal) if level == "node" else 0
        if self.categories:
            # One table for all columns, in which each column has its own rows, is one lookup instead of many.
            self.embedding = nn.EmbeddingBag(sum(self.categories), channels, mode="sum")
            limits = torch.tensor(self.categories)
            self.register_buffer("limits", limits, persistent=False)
            self.register_buffer("first_row", limits.cumsum(0) - limits, persistent=False)
        elif self.continuous:
            self.linear = nn.Linear(self.continuous, channels)
        elif self.ordinal:
            self.sinusoids = Sinusoids(self.ordinal, channels, features.ordinal_base)
            self.linear = nn.Linear(self.sinusoids.out_channels, channels)
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
        if not self.num_columns:
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
        if not isinstance(values, Tensor):
            raise ValueError(
                f"{self.attribute!r} is a {type(values).__name__}, no torch tensor; convert it by torch.as_tensor on "
                "each graph"
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
        if self.ordinal:
            self._check_not_negative(values)
            return self.linear(self.sinusoids(values, self.linear.weight.dtype))
        self._check_range(values)
        return self.embedding(values + self.first_row)

    @property
    def num_columns(self) -> int:
        """Number of columns of the attribute."""
        return len(self.categories) or self.continuous or self.ordinal

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

    def _check_not_negative(self, values: Tensor) -> None:
        if bool((values < 0).any()):
            row, column = (values < 0).nonzero()[0].tolist()
            raise ValueError(
                f"{self.attribute!r} is {int(values[row, column])} in column {column} (row {row}), but "
                "features.node_ordinal declares ordinal columns: count from 0"
            )

    def _declared(self) -> str:
        if self.categories:
            return (
                f"features.{self.level}_categories declares {len(self.categories)} integer columns"
            )
        if self.ordinal:
            return f"features.node_ordinal declares {self.ordinal} integer columns"
        return f"features.{self.level}_continuous declares {self.continuous} float columns"


class Sinusoids(nn.Module):
    r"""Maps whole numbers p from 0, of any size, to sines and cosines.

    .. math:: \sin(p\, b^{-2i/d}), \; \cos(p\, b^{-2i/d}), \quad i = 0, \dots, \lfloor d/2 \rfloor - 1

    first all sines of a column, then its cosines, where d is ``channels // columns``.

    Args:
        columns: Number of columns.
        channels: Width of the output, less what doesn't fit an even width per column.
        base: b; the wavelengths go from 2π to almost 2πb.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762.
    """

    def __init__(self, columns: int, channels: int, base: float) -> None:
        super().__init__()
        self.width = channels // columns
        if self.width < 2:
            raise ValueError(
                f"features.node_ordinal is {columns}, but there are only {channels} channels for their sinusoids; "
                f"make hidden_channels at least {2 * columns}"
            )
        self.base = base
        self.out_channels = columns * 2 * (self.width // 2)

    def forward(self, numbers: Tensor, dtype: torch.dtype) -> Tensor:
        """Maps ``[rows, columns]`` to ``[rows, out_channels]`` of ``dtype``."""
        # Not in half precision, in which a large number times a frequency would be an angle without meaning.
        precise = torch.promote_types(dtype, torch.float32)
        steps = torch.arange(self.width // 2, dtype=precise, device=numbers.device)
        angles = numbers[..., None].to(precise) * self.base ** (-2 * steps / self.width)
        return torch.cat([angles.sin(), angles.cos()], -1).flatten(1).to(dtype)

    def extra_repr(self) -> str:
        return f"out_channels={self.out_channels}, base={self.base}"


def has_edge_features(features: Features) -> bool:
    """Whether the dataset offers features of edges."""
    return bool(features.edge_categories) or features.edge_continuous > 0


def _describe(values: Tensor) -> str:
    dtype = str(values.dtype).removeprefix("torch.")
    if values.dim() > 2:
        return f"shape {list(values.shape)} and dtype {dtype}"
    columns = 1 if values.dim() == 1 else values.size(1)
    return f"{columns} {dtype} column{'s' if columns != 1 else ''}"
