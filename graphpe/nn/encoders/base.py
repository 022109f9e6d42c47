"""The base class of encoders: what a learned encoder needs, respects and gives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Field, Level, Symmetry
from graphpe.nn.layout import GraphLayout

# What a network does with the output of an encoder.
Role = Literal["add", "gate", "rotate"]

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
        kind: ``"float"``, ``"integer"`` or ``"complex"``, of any size; booleans are no integers.
        shape: Shape of a row that is not a list of columns but [Q, k], say; ``width`` is the product. Where Q is 1,
            rows ``[k]`` fit as well. None: ``(width,)``.

    Raises:
        ValueError: If the name is no name, or the shape is not that of ``width`` numbers.
    """

    name: str
    level: Level
    width: int | None
    transform: str | None
    kind: Literal["float", "integer", "complex"] = "float"
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require_field_name("field", self.name)
        if not isinstance(self.transform, str | None):
            raise ValueError(
                f"transform is {self.transform!r}; it must be the name of the transform that writes {self.name!r}, or "
                "None"
            )
        if self.shape is not None and math.prod(self.shape) != self.width:
            raise ValueError(
                f"{self.name!r} is required with width {self.width}, but rows of shape {self.shape}; the width must "
                "be the product"
            )

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
        self._check_row_shape(field.row_shape, encoder)
        self._check_kind(field.dtype, encoder)

    def read(self, data: Data, layout: GraphLayout, encoder: str) -> Tensor:
        """Returns the field of a batch, ``[rows, width]`` or ``[rows, *shape]``.

        Args:
            data: The batch.
            layout: Where its graphs lie.
            encoder: Name of the encoder, for the message.

        Raises:
            ValueError: If the attribute is missing, is not a matrix (or rows of ``shape``), or has another kind of
                numbers or another number of rows or columns.
        """
        value = data.get(self.name)
        if value is None:
            raise ValueError(self._missing(encoder))
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{self.name!r} is a {type(value).__name__}, no torch tensor; {encoder} needs {self._wanted()}: "
                "convert it by torch.as_tensor on each graph"
            )
        if value.dim() == 0:
            raise ValueError(f"{self.name!r} is a single number; {encoder} needs {self._wanted()}")
        self._check_row_shape(tuple(value.shape[1:]), encoder)
        rows = self._rows(data, layout)
        if value.size(0) != rows:
            raise ValueError(
                f"{self.name!r} has {value.size(0)} rows, but a {self.level} field of this batch has {rows}"
            )
        self._check_kind(value.dtype, encoder)
        return value if self.shape is None else value.reshape(-1, *self.shape)

    def _rows(self, data: Data, layout: GraphLayout) -> int:
        if self.level == "node":
            return layout.num_nodes
        if self.level == "edge":
            return data.num_edges
        if self.level == "pair":
            return int(layout.sizes.square().sum())
        return layout.num_graphs

    def _check_kind(self, dtype: torch.dtype, encoder: str) -> None:
        kind = "integer"
        if dtype == torch.bool:
            kind = "boolean"
        elif dtype.is_complex:
            kind = "complex"
        elif dtype.is_floating_point:
            kind = "float"
        if kind != self.kind:
            wanted = {"float": "floats", "integer": "integers", "complex": "complex numbers"}
            remedy = {"float": "float()", "integer": "long()", "complex": "to(torch.complex64)"}
            raise ValueError(
                f"{self.name!r} is {dtype}, but {encoder} needs {wanted[self.kind]}; choose another field, or convert "
                f"it by {remedy[self.kind]}"
            )

    def _check_row_shape(self, got: tuple[int, ...], encoder: str) -> None:
        if self.shape is not None:
            may_drop_first = len(self.shape) > 1 and self.shape[0] == 1
            if got != self.shape and not (may_drop_first and got == self.shape[1:]):
                raise ValueError(
                    f"{self.name!r} has rows of shape {list(got)}, but {encoder} was built for {list(self.shape)}; "
                    "change one of the two" + self._writer()
                )
        elif len(got) != 1:
            raise ValueError(
                f"{self.name!r} has rows of shape {list(got)}; {encoder} needs {self._wanted()}"
            )
        elif self.width not in (None, got[0]):
            raise ValueError(
                f"{self.name!r} has {got[0]} columns, but {encoder} was built for {self.width}; "
                "change one of the two" + self._writer()
            )

    def _wanted(self) -> str:
        if self.shape is None:
            return "a matrix [rows, columns]"
        return f"a tensor [rows, {', '.join(map(str, self.shape))}]"

    def _writer(self) -> str:
        return f" ({self.transform} writes the field)" if self.transform else ""

    def _missing(self, encoder: str) -> str:
        return (
            f"{encoder} needs the field {self.name!r}, which is not there; "
            f"encode the dataset with {self.transform or 'the transform that writes it (see: graphpe encodings)'}"
        )


class _OfClassOrInstance:
    """A method of a class and of its instances, which gets the one or the other as ``self``.

    Args:
        function: The method.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object | None, owner: type) -> MethodType:
        return MethodType(self.function, owner if instance is None else instance)


class FieldEncoder(nn.Module, ABC):
    """A learned encoder of fields: a module that reads fields of a batch and returns a vector per node, edge or pair.

    A subclass declares what it needs and which freedom of the fields leaves its output unchanged, and implements
    :meth:`forward`; ``graphpe.testing.check_encoder`` then tests what it declares.

    Attributes:
        requires: The fields that it reads, in the order of :meth:`read`.
        out_channels: Width of the output.
        level: What a row of the output describes.
        role: What a network does with the output: ``"add"`` (to the vectors of nodes or edges, or, for pairs, to what
            attention and the head of pairs see), ``"gate"`` (the vectors of edges are multiplied by it), or
            ``"rotate"`` (angles of nodes, by which attention rotates queries and keys).
        invariant_to: Symmetries of its fields that leave the output as it is in evaluation; of the class where all
            instances have them, else of an instance.
        augments: Symmetries that it only learns, by a random draw per graph in training; of the class or an instance.
        reads_complex: Whether the symmetries are those of complex fields: ``"basis"`` is unitary and includes phases.
        mixes_graphs_in_training: Whether, in training, the output for one graph depends on the other graphs in the
            batch or on chance.
        compile_exception: Why ``torch.compile`` can't compile it; None where it can.
    """

    requires: tuple[FieldRequirement, ...]
    out_channels: int
    level: Level = "node"
    role: ClassVar[Role] = "add"
    invariant_to: frozenset[Symmetry] = frozenset()
    augments: frozenset[Symmetry] = frozenset()
    reads_complex: ClassVar[bool] = False
    mixes_graphs_in_training: bool = False
    compile_exception: ClassVar[str | None] = None

    @abstractmethod
    def forward(self, data: Data) -> Tensor:
        """Encodes the fields of a batch.

        Args:
            data: A PyG ``Batch`` (or a ``Data``, one graph) with the required fields.

        Returns:
            ``[rows, out_channels]``, one row per node, edge or pair, as ``level`` says.
        """

    def read(self, data: Data, layout: GraphLayout) -> tuple[Tensor, ...]:
        """Returns the required fields of a batch: floats in the dtype of the parameters, or its complex one; int64.

        Args:
            data: The batch.
            layout: Where its graphs lie.

        Raises:
            ValueError: If a field is missing or doesn't fit.
        """
        # Lists, since torch.compile of torch 2.6 stumbles over generators here.
        values = [field.read(data, layout, type(self).__name__) for field in self.requires]
        dtypes = {"integer": torch.int64}
        parameters = list(self.parameters())
        if parameters:
            dtypes["float"] = parameters[0].dtype
            # There is no complex arithmetic in half precision.
            dtypes["complex"] = torch.promote_types(parameters[0].dtype, torch.complex64)
        converted = []
        for number, need in enumerate(self.requires):
            value = values[number]
            converted.append(value.to(dtypes.get(need.kind, value.dtype)))
        return tuple(converted)

    @_OfClassOrInstance
    def covers(self: FieldEncoder | type[FieldEncoder], symmetry: Symmetry) -> bool:
        """Whether the encoder, or every instance of the class, is invariant to a symmetry or one that includes it."""
        return symmetry == "none" or any(symmetry in _INCLUDES[s] for s in self.invariant_to)

    @_OfClassOrInstance
    def learns(self: FieldEncoder | type[FieldEncoder], symmetry: Symmetry) -> bool:
        """Whether it sees random instances of a symmetry, or of one that includes it, in training."""
        return any(symmetry in _INCLUDES[s] for s in self.augments)


def require_field_name(argument: str, name: object) -> None:
    """Raises a ValueError unless the value of an argument can be the name of a field."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(
            f"{argument} is {name!r}; it must be the name of a field, such as 'random_walk_pe'"
        )


def uniform_like_linear(*shape: int, fan_in: int) -> nn.Parameter:
    """A parameter drawn as ``torch.nn.Linear`` draws its weight and bias: U(-1/√fan_in, 1/√fan_in)."""
    bound = fan_in**-0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))
