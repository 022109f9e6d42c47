"""The base class of encoders: what a learned encoder needs, respects and gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Field, Level, Symmetry
from graphpe.nn.layout import GraphLayout

# The symmetries that an invariance includes: a sign is a rotation of a one-dimensional eigenspace, and a phase.
_INCLUDES: dict[Symmetry, frozenset[Symmetry]] = {
    "none": frozenset({"none"}),
    "sign": frozenset({"none", "sign"}),
    "basis": frozenset({"none", "sign", "basis"}),
    "phase": frozenset({"none", "sign", "phase"}),
}


@dataclass(frozen=True)
class FieldRequirement:
    """A field that an encoder reads from the batch.

    Args:
        name: Attribute name on the batch.
        level: What one row describes.
        width: Number of columns; None accepts any.
        transform: The transform that writes the field, for error messages; None if it isn't known.
        kind: ``"float"`` or ``"integer"``, of any size.
    """

    name: str
    level: Level
    width: int | None
    transform: str | None
    kind: Literal["float", "integer"] = "float"

    def check(self, field: Field | None, encoder: str) -> None:
        """Refuses a declared field that is missing or doesn't fit.

        Args:
            field: The field of that name that the dataset declares, or None if it declares none.
            encoder: Name of the encoder, for the message.
        """
        if field is None:
            raise ValueError(self._missing(encoder))
        if field.level != self.level:
            raise ValueError(
                f"{encoder} reads {self.name!r} as a {self.level} field, but it is a {field.level} field"
            )
        if self.width not in (None, field.width):
            raise ValueError(self._wrong_width(encoder, field.width))
        self._check_kind(field.dtype, encoder)

    def read(self, data: Data, layout: GraphLayout, encoder: str) -> Tensor:
        """Returns the field of a batch, ``[rows, width]``.

        Args:
            data: The batch.
            layout: Where its graphs lie.
            encoder: Name of the encoder, for the message.

        Raises:
            ValueError: If the attribute is missing, is not a matrix, or has another kind of numbers or another number
                of rows or columns.
        """
        value = data.get(self.name)
        if value is None:
            raise ValueError(self._missing(encoder))
        if not isinstance(value, Tensor) or value.dim() != 2:
            got = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"{self.name!r} is {got}; {encoder} needs a matrix [rows, columns]")
        rows = self._rows(data, layout)
        if value.size(0) != rows:
            raise ValueError(
                f"{self.name!r} has {value.size(0)} rows, but a {self.level} field of this batch has {rows}"
            )
        if self.width not in (None, value.size(1)):
            raise ValueError(self._wrong_width(encoder, value.size(1)))
        self._check_kind(value.dtype, encoder)
        return value

    def _rows(self, data: Data, layout: GraphLayout) -> int:
        if self.level == "node":
            return layout.num_nodes
        if self.level == "edge":
            return data.num_edges
        if self.level == "pair":
            return int(layout.sizes.square().sum())
        return layout.num_graphs

    def _check_kind(self, dtype: torch.dtype, encoder: str) -> None:
        is_integer = not (dtype.is_floating_point or dtype.is_complex)
        if not (dtype.is_floating_point if self.kind == "float" else is_integer):
            remedy = {"float": "float()", "integer": "long()"}[self.kind]
            raise ValueError(
                f"{self.name!r} is {dtype}, but {encoder} needs {self.kind}s; choose another field, or convert it by "
                f"{remedy}"
            )

    def _missing(self, encoder: str) -> str:
        return (
            f"{encoder} needs the field {self.name!r}, which is not there; "
            f"encode the dataset with {self.transform or 'the transform that writes it (see: graphpe encodings)'}"
        )

    def _wrong_width(self, encoder: str, width: int) -> str:
        return (
            f"{self.name!r} has {width} columns, but {encoder} was built for {self.width}; "
            "change one of the two"
            + (f" ({self.transform} writes the field)" if self.transform else "")
        )


class FieldEncoder(nn.Module, ABC):
    """A learned encoder of fields: a module that reads fields of a batch and returns a vector per node, edge or pair.

    A subclass declares what it needs and which freedom of the fields leaves its output unchanged, and implements
    :meth:`forward`; ``graphpe.testing.check_encoder`` then tests what it declares.

    Attributes:
        requires: The fields that it reads, in the order of :meth:`read`.
        out_channels: Width of the output.
        level: What a row of the output describes.
        invariant_to: Symmetries of its fields that leave the output as it is in evaluation.
        augments: Symmetries that it only learns, by a random draw per graph in training.
        mixes_graphs_in_training: Whether, in training, the output for one graph depends on the other graphs in the
            batch or on chance.
    """

    requires: tuple[FieldRequirement, ...]
    out_channels: int
    level: ClassVar[Level] = "node"
    invariant_to: ClassVar[frozenset[Symmetry]] = frozenset()
    augments: ClassVar[frozenset[Symmetry]] = frozenset()
    mixes_graphs_in_training: bool = False

    @abstractmethod
    def forward(self, data: Data) -> Tensor:
        """Encodes the fields of a batch.

        Args:
            data: A PyG ``Batch`` (or a ``Data``, one graph) with the required fields.

        Returns:
            ``[rows, out_channels]``, one row per node, edge or pair, as ``level`` says.
        """

    def read(self, data: Data, layout: GraphLayout) -> tuple[Tensor, ...]:
        """Returns the required fields of a batch; floats in the dtype of the parameters.

        Args:
            data: The batch.
            layout: Where its graphs lie.

        Raises:
            ValueError: If a field is missing or doesn't fit.
        """
        values = (field.read(data, layout, type(self).__name__) for field in self.requires)
        parameter = next(self.parameters(), None)
        if parameter is None:
            return tuple(values)
        return tuple(v.to(parameter.dtype) if v.is_floating_point() else v for v in values)

    @classmethod
    def covers(cls, symmetry: Symmetry) -> bool:
        """Whether the encoder is invariant to a symmetry, or to one that includes it."""
        return symmetry == "none" or any(symmetry in _INCLUDES[s] for s in cls.invariant_to)

    @classmethod
    def learns(cls, symmetry: Symmetry) -> bool:
        """Whether the encoder sees random instances of a symmetry, or of one that includes it, in training."""
        return any(symmetry in _INCLUDES[s] for s in cls.augments)


def uniform_like_linear(*shape: int, fan_in: int) -> nn.Parameter:
    """A parameter drawn as ``torch.nn.Linear`` draws its weight and bias: U(-1/√fan_in, 1/√fan_in)."""
    bound = fan_in**-0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))
