"""Fields: what an encoding writes and an encoder reads, declared once and never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

Level = Literal["node", "edge", "pair", "graph"]
Symmetry = Literal["none", "sign", "basis", "phase"]

# PyG decides from parts of a name how a tensor is collated, so these parts may not occur in a field's name.
_RESERVED_PARTS = ("batch", "index", "face", "adj", "ptr")


@dataclass(frozen=True)
class Field:
    """A named tensor that an encoding attaches to a graph.

    | level | shape on a ``Data`` | in a batch |
    |---|---|---|
    | node | ``[n, width]`` | concatenated |
    | edge | ``[e, width]`` | concatenated |
    | pair | ``[n * n, width]``, row-major (source, target) | concatenated |
    | graph | ``[1, width]`` | concatenated |

    Args:
        name: Attribute name on the ``Data``.
        level: What one row describes: ``"node"``, ``"edge"``, ``"pair"`` or ``"graph"``.
        width: Number of columns.
        dtype: Stored dtype.
        symmetry: The freedom left in the columns: ``"sign"`` (±1 per column), ``"basis"`` (an orthogonal
            matrix per eigenspace; includes sign), ``"phase"`` (a unit complex number per column), or ``"none"``.
        padding: Value of the columns that a small graph does not fill.
        categories: For integers that stand for categories, their number: the values are 0 to ``categories - 1``, and
            an embedding table has so many rows. None for anything else.

    Raises:
        ValueError: If the name would make PyG collate the tensor in another way than the level says, or categories
            are not integers.
    """

    name: str
    level: Level
    width: int
    dtype: torch.dtype = torch.float32
    symmetry: Symmetry = "none"
    padding: float = 0.0
    categories: int | None = None

    def __post_init__(self) -> None:
        reserved = [part for part in _RESERVED_PARTS if part in self.name]
        if reserved:
            raise ValueError(
                f"field name {self.name!r} contains {reserved[0]!r}, which PyG collates in a special way; "
                "choose a name without it"
            )
        if not self.name.isidentifier():
            raise ValueError(f"field name {self.name!r} is not a valid attribute name")
        is_integer = not (self.dtype.is_floating_point or self.dtype.is_complex)
        if self.categories is not None and not is_integer:
            raise ValueError(
                f"field {self.name!r} has {self.categories} categories but dtype {self.dtype}; categories are integers"
            )
