"""Fields: what an encoding writes and an encoder reads, declared once and never guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

Level = Literal["node", "edge", "pair", "graph"]
Symmetry = Literal["none", "sign", "basis", "phase"]

# PyG decides from parts of a name how a tensor is collated, so these parts may not occur in a field's name.
_RESERVED_PARTS = ("batch", "index")
_RESERVED_NAMES = ("adj", "adj_t", "face", "ptr")


@dataclass(frozen=True)
class Field:
    """A named tensor that an encoding attaches to a graph.

    | level | shape on a ``Data`` | in a batch |
    |---|---|---|
    | node | ``[n, width]`` | concatenated |
    | edge | ``[e, width]`` | concatenated |
    | pair | ``[n * n, width]``, row-major (source, target) | concatenated |
    | graph | ``[1, width]`` | concatenated |

    A field with a ``shape`` has that in place of ``width``: ``[n, *shape]`` for a node field.

    Args:
        name: Attribute name on the ``Data``.
        level: What one row describes: ``"node"``, ``"edge"``, ``"pair"`` or ``"graph"``.
        width: Number of columns.
        dtype: Stored dtype.
        symmetry: The freedom left in the columns: ``"sign"`` (±1 per column), ``"basis"`` (an orthogonal matrix per
            eigenspace, for complex numbers a unitary one; includes sign and phase), ``"phase"`` (a unit complex number
            per column), or ``"none"``.
        padding: Value of the columns that a small graph does not fill.
        categories: For integers that stand for categories, their number: the values are 0 to ``categories - 1``, and
            an embedding table has so many rows. None for anything else.
        shape: Shape of a row that is not a list of columns but [Q, k], say; ``width`` is the product. None:
            ``(width,)``.

    Raises:
        ValueError: If the name would make PyG collate the tensor in another way than the level says, categories are
            not integers, or the shape is not that of ``width`` numbers.
    """

    name: str
    level: Level
    width: int
    dtype: torch.dtype = torch.float32
    symmetry: Symmetry = "none"
    padding: float = 0.0
    categories: int | None = None
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        reserved = [part for part in _RESERVED_PARTS if part in self.name]
        if reserved:
            raise ValueError(
                f"field name {self.name!r} contains {reserved[0]!r}, which PyG collates in a special way; "
                "choose a name without it"
            )
        if self.name in _RESERVED_NAMES:
            raise ValueError(
                f"field name {self.name!r} has a meaning of its own in PyG; choose another name"
            )
        if not self.name.isidentifier():
            raise ValueError(f"field name {self.name!r} is not a valid attribute name")
        if "node" in self.name and self.level != "node":
            raise ValueError(
                f"field name {self.name!r} contains 'node', from which PyG tells the number of nodes, but it is a "
                f"{self.level} field; choose a name without it"
            )
        is_integer = not (self.dtype.is_floating_point or self.dtype.is_complex)
        if self.categories is not None and not is_integer:
            raise ValueError(
                f"field {self.name!r} has {self.categories} categories but dtype {self.dtype}; categories are integers"
            )
        if self.shape is not None and math.prod(self.shape) != self.width:
            raise ValueError(
                f"field {self.name!r} has width {self.width}, but rows of shape {self.shape}; the width must be the "
                "product"
            )

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row: ``shape``, or ``(width,)``."""
        return (self.width,) if self.shape is None else self.shape
